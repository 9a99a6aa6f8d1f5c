// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system as a picture, in two steps: what elkjs is to lay out, and shapes made of what it found. This file is also run
// outside of a browser (couplet graph --svg), by an engine that knows the language of 2009: no let, no arrows.
// A diagram is {title, nodes: [{id, parent, kind, name, sub, info, ports: [{id, side, name, info}]}],
// edges: [{from: [node, port], to: [node, port], kind, name, info}]}; a port of -1 is the node as a whole.

var CHARACTER = 6.9; // the width of one, at 12 pixels: no engine but a browser could measure it

function cut(text, most) { return text.length > most ? text.slice(0, most - 1) + '…' : text; }

function widest(texts) {
  var most = 0;
  for (var i = 0; i < texts.length; i++) most = Math.max(most, texts[i].length);
  return most * CHARACTER;
}

function childrenOf(diagram, id) { return diagram.nodes.filter(function (n) { return n.parent === id; }); }

function portsOf(node, side) { return node.ports.filter(function (p) { return p.side === side; }); }

// A node with everything that is to be seen inside it.
function layoutNode(diagram, node, folded) {
  var inside = folded[node.id] ? [] : childrenOf(diagram, node.id);
  var names = function (side) { return portsOf(node, side).map(function (p) { return cut(p.name, 24); }); };
  var out = {id: 'n' + node.id, ports: [], children: [], layoutOptions: {'elk.portConstraints': 'FIXED_SIDE'}};
  var rows = Math.max(portsOf(node, 'in').length, portsOf(node, 'out').length);
  var title = Math.max(cut(node.name, 40).length, cut(node.sub || '', 40).length) * CHARACTER;
  node.ports.forEach(function (p) {
    out.ports.push({id: 'p' + p.id, width: 8, height: 8, layoutOptions: {'elk.port.side': p.side === 'in' ? 'WEST' : 'EAST'}});
  });
  if (inside.length > 0) {
    out.children = inside.map(function (n) { return layoutNode(diagram, n, folded); });
    out.layoutOptions['elk.padding'] = '[top=52,left=' + Math.round(widest(names('in')) + 26) + ',bottom=18,right=' +
      Math.round(widest(names('out')) + 26) + ']';
  } else if (node.kind === 'model' || node.kind === 'system' || node.kind === 'mode') {
    out.width = Math.max(70, title + 24 + (rows > 0 ? widest(names('in')) + widest(names('out')) + 16 : 0));
    out.height = Math.max(46, 18 * rows + 14);
    out.layoutOptions['elk.spacing.portPort'] = '10';
  } else {
    out.width = cut(node.name, 30).length * CHARACTER + (node.kind === 'function' ? 18 : 14);
    out.height = 24;
  }
  return out;
}

function isShown(diagram, id, folded) {
  for (var n = diagram.nodes[id]; n.parent >= 0; n = diagram.nodes[n.parent]) if (folded[n.parent]) return false;
  return true;
}

function layoutInput(diagram, folded) {
  var end = function (e) { return e[1] >= 0 ? 'p' + e[1] : 'n' + e[0]; };
  var charts = diagram.nodes.some(function (n) { return n.kind === 'mode'; });
  return {
    id: 'root',
    layoutOptions: {'elk.algorithm': 'layered', 'elk.direction': 'RIGHT', 'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
      'elk.edgeRouting': charts ? 'SPLINES' : 'ORTHOGONAL', 'elk.json.shapeCoords': 'ROOT', 'elk.json.edgeCoords': 'ROOT',
      'elk.layered.spacing.nodeNodeBetweenLayers': '42', 'elk.spacing.nodeNode': '22', 'elk.spacing.edgeNode': '14',
      'elk.layered.spacing.edgeNodeBetweenLayers': '14', 'elk.spacing.edgeEdge': '9', 'elk.randomSeed': '1',
      'elk.edgeLabels.placement': 'CENTER', 'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX'},
    children: childrenOf(diagram, -1).map(function (n) { return layoutNode(diagram, n, folded); }),
    edges: diagram.edges.map(function (e, i) {
      var edge = {id: 'e' + i, sources: [end(e.from)], targets: [end(e.to)]};
      if (e.name) edge.labels = [{id: 'l' + i, text: cut(e.name, 40), width: cut(e.name, 40).length * CHARACTER + 4, height: 16}];
      return edge;
    }).filter(function (edge, i) {
      return isShown(diagram, diagram.edges[i].from[0], folded) && isShown(diagram, diagram.edges[i].to[0], folded);
    })
  };
}

// Many plain lines between two boxes become one that tells them all.
var MANY_LINES = 6;

function bundled(diagram) {
  var groups = {}, edges = [], used = {};
  diagram.edges.forEach(function (e) {
    var key = e.kind === '' && !e.name && e.from[1] >= 0 && e.to[1] >= 0 ? e.from[0] + ' ' + e.to[0] : '';
    if (key === '') edges.push(e);
    else (groups[key] = groups[key] || []).push(e);
  });
  Object.keys(groups).forEach(function (key) {
    var group = groups[key];
    if (group.length < MANY_LINES) { edges = edges.concat(group); return; }
    var info = [];
    group.forEach(function (e) { info = info.concat(e.info || []); });
    edges.push({from: [group[0].from[0], -1], to: [group[0].to[0], -1], kind: 'bundle', name: group.length + ' values', info: info});
  });
  edges.forEach(function (e) { used[e.from[1]] = used[e.to[1]] = true; });
  return {title: diagram.title, edges: edges, nodes: diagram.nodes.map(function (n) {
    var copy = {};
    Object.keys(n).forEach(function (k) { copy[k] = n[k]; });
    copy.ports = n.ports.filter(function (p) { return used[p.id]; });
    copy.more = n.ports.length - copy.ports.length;
    return copy;
  })};
}

//------------------------------------ shapes ------------------------------------

// A shape is {tag, attributes, text, children}: elements of SVG, whoever makes them.
function shape(tag, attributes, text, children) { return {tag: tag, attributes: attributes, text: text, children: children || []}; }

function label(x, y, text, style) { return shape('text', {x: Math.round(10 * x) / 10, y: Math.round(10 * y) / 10, 'class': style}, text); }

function infoOf(thing) { return shape('title', {}, (thing.info || []).join('\n')); }

function nodeShapes(diagram, laid, folded, out) {
  laid.children.forEach(function (at) {
    var node = diagram.nodes[Number(at.id.slice(1))], x = at.x, y = at.y, has = childrenOf(diagram, node.id).length > 0;
    var box = shape('g', {'class': 'node ' + node.kind, tabindex: 0, 'data-node': node.id}, undefined, [infoOf(node)]);
    box.children.push(shape('rect', {x: x, y: y, width: at.width, height: at.height, rx: node.kind === 'mode' ? 16 : node.kind === 'function' ? 12 : 6}));
    if (node.kind === 'function' || node.kind === 'signal') {
      box.children.push(label(x + at.width / 2, y + 16, cut(node.name, 30), 'mid'));
    } else {
      box.children.push(label(x + at.width / 2, y + 18, cut(node.name, 40), 'mid name'));
      if (node.sub) box.children.push(label(x + at.width / 2, y + 34, cut(node.sub, 40), 'mid dim'));
      if (has) box.children.push(shape('text', {x: x + 8, y: y + 18, 'class': 'fold'}, folded[node.id] ? '▸' : '▾'));
    }
    out.push(box);
    at.ports.forEach(function (place) {
      var port = node.ports.filter(function (p) { return 'p' + p.id === place.id; })[0], inward = port.side === 'in';
      out.push(shape('g', {'class': 'port ' + port.side + (port.open ? ' open' : '')}, undefined, [infoOf(port),
        shape('rect', {x: place.x, y: place.y, width: 8, height: 8}),
        label(inward ? place.x + 14 : place.x - 6, place.y + (at.children.length > 0 ? -1 : 8), cut(port.name, 24), inward ? 'dim' : 'dim end')]));
    });
    if (at.children.length > 0) nodeShapes(diagram, at, folded, out);
  });
}

function arrow(from, to) {
  var length = Math.sqrt((to.x - from.x) * (to.x - from.x) + (to.y - from.y) * (to.y - from.y)) || 1;
  var ux = (to.x - from.x) / length, uy = (to.y - from.y) / length, at = function (along, aside) {
    return (to.x - along * ux - aside * uy).toFixed(1) + ' ' + (to.y - along * uy + aside * ux).toFixed(1);
  };
  return 'M' + at(0, 0) + 'L' + at(7, 3.2) + 'L' + at(7, -3.2) + 'Z';
}

function edgeShapes(diagram, laid, splines, out) {
  laid.edges.forEach(function (at) {
    var edge = diagram.edges[Number(at.id.slice(1))], line = '', head = '';
    (at.sections || []).forEach(function (s) {
      var points = [s.startPoint].concat(s.bendPoints || [], [s.endPoint]);
      points.forEach(function (p, i) {
        var curve = splines && i > 0 && (points.length - 1) % 3 === 0;
        line += (i === 0 ? 'M' : curve ? (i % 3 === 1 ? 'C' : ' ') : 'L') + p.x.toFixed(1) + ' ' + p.y.toFixed(1);
      });
      head = arrow(points[points.length - 2], points[points.length - 1]);
    });
    var group = shape('g', {'class': 'edge ' + (edge.kind || '')}, undefined, [infoOf(edge), shape('path', {d: line, 'class': 'wide'}),
      shape('path', {d: line, 'class': 'line'}), shape('path', {d: head, 'class': 'head'})]);
    (at.labels || []).forEach(function (l) { group.children.push(label(l.x + 2, l.y + 12, l.text, 'dim')); });
    out.push(group);
  });
}

var DIAGRAM_STYLE = 'text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:#1c2330}.mid{text-anchor:middle}.end{text-anchor:end}' +
  '.name{font-weight:600}text.dim{fill:#5b6575;font-size:11px}.fold{fill:#5b6575}.bg{fill:#fff}' +
  '.node>rect{fill:#f6f7f9;stroke:#98a2b3}.system>rect{fill:#1f66c10d}.function>rect{fill:#fff;stroke:#b9c1ce;stroke-dasharray:3 2}' +
  '.signal>rect{fill:none;stroke:none}.mode>rect{fill:#f1edff;stroke:#5d4bc9}.active>rect{stroke-width:2.5}' +
  '.port>rect{fill:#667085}.port.open>rect{fill:#fff;stroke:#667085}' +
  '.edge .line{fill:none;stroke:#667085;stroke-width:1.3}.edge .head{fill:#667085}.edge .wide{fill:none;stroke:transparent;stroke-width:9}' +
  '.loop .line{stroke:#c53a3a;stroke-width:2}.loop .head{fill:#c53a3a}.delayed .line{stroke-dasharray:6 4}' +
  '.bundle .line{stroke-width:4;stroke:#98a2b3}.bundle .head{stroke:#98a2b3;stroke-width:4;fill:#98a2b3}.tlm .line{stroke:#16875a;stroke-width:4}.tlm .head{fill:#16875a}.transition .line{stroke:#5d4bc9}.transition .head{fill:#5d4bc9}' +
  '.edge:hover .line{stroke-width:3}.node:hover>rect,.node:focus>rect{stroke:#1f66c1;stroke-width:2}.node:focus{outline:none}';
var DIAGRAM_DARK = '.bg{fill:#12161d}text{fill:#e6e9ef}text.dim,.fold{fill:#a3adbd}.node>rect{fill:#1a2029;stroke:#5b6778}' +
  '.system>rect{fill:#6ea8fe14}.function>rect{fill:#12161d;stroke:#4a5565}.mode>rect{fill:#231f3d;stroke:#a99dff}' +
  '.port>rect{fill:#a3adbd}.port.open>rect{fill:#12161d;stroke:#a3adbd}' +
  '.edge .line{stroke:#98a2b3}.edge .head{fill:#98a2b3}.loop .line{stroke:#ff8080}.loop .head{fill:#ff8080}' +
  '.tlm .line{stroke:#4fd19a}.tlm .head{fill:#4fd19a}.transition .line{stroke:#a99dff}.transition .head{fill:#a99dff}' +
  '.node:hover>rect,.node:focus>rect{stroke:#6ea8fe}.signal>rect{fill:none;stroke:none}';

function diagramShapes(diagram, laid, folded) {
  var out = [], width = Math.ceil(laid.width + 24), height = Math.ceil(laid.height + 24);
  var splines = laid.layoutOptions['elk.edgeRouting'] === 'SPLINES';
  nodeShapes(diagram, laid, folded, out);
  edgeShapes(diagram, laid, splines, out);
  return shape('svg', {xmlns: 'http://www.w3.org/2000/svg', width: width, height: height, viewBox: '-12 -12 ' + width + ' ' + height,
    role: 'img'}, undefined, [shape('style', {}, DIAGRAM_STYLE + '@media(prefers-color-scheme:dark){' + DIAGRAM_DARK + '}'),
    shape('rect', {x: -12, y: -12, width: width, height: height, 'class': 'bg'})].concat(out));
}

// Text of a document: no name can become markup, and what XML cannot hold becomes a sign that says so.
function markup(s) {
  var safe = function (text) {
    return String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd').replace(/&/g, '&amp;')
      .replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
  };
  var out = '<' + s.tag;
  Object.keys(s.attributes).forEach(function (k) { if (k !== 'tabindex' && k !== 'data-node') out += ' ' + k + '="' + safe(s.attributes[k]) + '"'; });
  out += '>' + (s.text !== undefined ? safe(s.text) : '') + s.children.map(markup).join('') + '</' + s.tag + '>';
  return out + (s.tag === 'g' || s.tag === 'svg' ? '\n' : '');
}
