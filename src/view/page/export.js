// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What a plot shows, as a file: the picture as SVG or PNG, the numbers of the rows in view as CSV, every digit and every row.

function exportPlot(plot, what) {
  const name = (DATA.title || 'couplet').replace(/\.[^.]*$/, '').replace(/[^\w.-]+/g, '_');
  if (what === 'csv') save(name + '.csv', 'text/csv', [csvOf(plot)]);
  if (what === 'svg') save(name + '.svg', 'image/svg+xml', [new XMLSerializer().serializeToString(svgOf(plot))]);
  if (what === 'png') pngOf(plot).toBlob(blob => save(name + '.png', 'image/png', [blob]));
}

//------------------------------------ numbers ------------------------------------

// Lines of different times side by side: at each time as many rows as the one with most has (both sides of an event).
function csvOf(plot) {
  const groups = [];
  for (const curve of plot.drawn) {
    const line = plot.baseOf(curve);
    let group = groups.find(g => g.time === line.time && g.end === line.rows);
    if (!group) {
      groups.push(group = {time: line.time, at: 0, end: line.rows, columns: []});
      if (plot.phase) { const across = new Curve(plot.acrossColumn(curve)); group.columns.push([across.label, across.values]); }
    }
    group.columns.push([(plot.spectral ? 'amplitude of ' : '') + curve.label, line.values]);
  }
  if (!plot.phase) {
    const [from, until] = plot.rangeX();
    for (const g of groups) [g.at, g.end] = [rowAt(g.time, g.end, from, false), rowAt(g.time, g.end, until, true)];
  }
  const lines = [[plot.phase ? 'time [s]' : plot.axisX(), ...groups.flatMap(g => g.columns.map(([label]) => cell(label)))].join(',')];
  while (groups.some(g => g.at < g.end)) {
    const t = Math.min(...groups.filter(g => g.at < g.end).map(g => g.time[g.at]));
    const row = [digits(t)];
    for (const g of groups) {
      const here = g.at < g.end && g.time[g.at] === t;
      for (const [, values] of g.columns) row.push(here ? digits(values[g.at]) : '');
      if (here) g.at++;
    }
    lines.push(row.join(','));
  }
  return lines.join('\n') + '\n';
}

//------------------------------------ pictures ------------------------------------

const LEGEND_LINE = 20;

function legendPlaces(plot, width) {
  const measure = document.createElement('canvas').getContext('2d');
  measure.font = '12px system-ui, sans-serif';
  let x = 12, y = 18;
  return plot.drawn.map(c => {
    const room = 40 + measure.measureText(c.label).width;
    if (x > 12 && x + room > width) { x = 12; y += LEGEND_LINE; }
    const place = {curve: c, x, y};
    x += room;
    return place;
  });
}

function svgOf(plot) {
  const u = plot.u, ratio = devicePixelRatio, space = 'http://www.w3.org/2000/svg';
  const legend = legendPlaces(plot, u.width), top = (legend.at(-1)?.y ?? 0) + 8;
  const svg = document.createElementNS(space, 'svg');
  const put = (parent, tag, attributes, text) => {
    const e = document.createElementNS(space, tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    if (text !== undefined) e.textContent = text;
    parent.append(e);
    return e;
  };
  const height = u.height + top, box = Object.fromEntries(Object.entries(u.bbox).map(([k, v]) => [k, v / ratio]));
  for (const [k, v] of Object.entries({width: u.width, height, viewBox: '0 0 ' + u.width + ' ' + height, 'font-family': 'system-ui, sans-serif',
    'font-size': 12})) svg.setAttribute(k, v);
  put(svg, 'rect', {width: '100%', height: '100%', fill: css('--bg')});
  for (const {curve, x, y} of legend) {
    put(svg, 'path', {d: 'M' + x + ' ' + (y - 4) + 'h18', stroke: colourOf(curve), 'stroke-width': 2.5, 'stroke-dasharray': dashOf(curve).join(' ')});
    put(svg, 'text', {x: x + 24, y, fill: css('--ink')}, curve.label);
  }
  const inner = put(svg, 'g', {transform: 'translate(0 ' + top + ')'});
  drawAxes(plot, inner, put, box);
  put(put(inner, 'clipPath', {id: 'area'}), 'rect', {x: box.left, y: box.top, width: box.width, height: box.height});
  const curves = put(inner, 'g', {'clip-path': 'url(#area)', fill: 'none', 'stroke-width': 1.6, 'stroke-linejoin': 'round'});
  const measure = document.createElement('canvas').getContext('2d');
  measure.font = EVENT_FONT + 'px system-ui, sans-serif';
  const marks = eventShapes(plot, t => u.valToPos(t, 'x'), box.width, box.height, text => measure.measureText(text).width);
  for (const {x, y, height: h, dash} of marks.lines)
    put(curves, 'path', {d: 'M' + (box.left + x) + ' ' + (box.top + y) + 'v' + h, stroke: css('--axis'), 'stroke-width': 1, 'stroke-dasharray': dash.join(' ')});
  for (const {x, y, text} of marks.texts)
    put(curves, 'text', {x: box.left + x, y: box.top + y, fill: css('--dim'), stroke: 'none', 'font-size': EVENT_FONT}, text);
  for (const c of plot.drawn) {
    const pen = new TextPen(), to = plot.transform(u, plot.keyOf(c));
    plot.trace(pen, c, {...to, x: t => to.x(t) / ratio, y: v => to.y(v) / ratio});
    put(curves, 'path', {d: pen.text, stroke: colourOf(c), 'stroke-dasharray': dashOf(c).join(' ')});
  }
  return svg;
}

function drawAxes(plot, inner, put, box) {
  const u = plot.u, dim = css('--dim');
  let left = box.left, right = box.left + box.width;
  u.axes.forEach((axis, i) => {
    const values = axis._values ?? [], splits = axis._splits ?? [];
    splits.forEach((split, k) => {
      if (values[k] === undefined || values[k] === '') return;
      const at = u.valToPos(split, axis.scale);
      if (axis.side === 2) {
        const x = box.left + at;
        put(inner, 'path', {d: 'M' + x + ' ' + box.top + 'v' + box.height, stroke: css('--grid')});
        put(inner, 'text', {x, y: box.top + box.height + 18, fill: dim, 'text-anchor': 'middle'}, values[k]);
      } else {
        const y = box.top + at;
        if (i === 1) put(inner, 'path', {d: 'M' + box.left + ' ' + y + 'h' + box.width, stroke: css('--grid')});
        put(inner, 'text', {x: axis.side === 3 ? left - 8 : right + 8, y: y + 4, fill: dim, 'text-anchor': axis.side === 3 ? 'end' : 'start'}, values[k]);
      }
    });
    const y = box.top + box.height / 2;
    if (axis.side === 2) put(inner, 'text', {x: box.left + box.width / 2, y: box.top + box.height + 36, fill: dim, 'text-anchor': 'middle'}, axis.label);
    else {
      const x = axis.side === 3 ? left - axis._size - 2 : right + axis._size + 12;
      put(inner, 'text', {x, y, fill: dim, 'text-anchor': 'middle', transform: 'rotate(-90 ' + x + ' ' + y + ')'}, axis.label ?? '');
      if (axis.side === 3) left -= axis._size + 20; else right += axis._size + 20;
    }
  });
  put(inner, 'path', {d: 'M' + box.left + ' ' + (box.top + box.height) + 'h' + box.width, stroke: css('--axis'), fill: 'none'});
}

function pngOf(plot) {
  const u = plot.u, ratio = devicePixelRatio, legend = legendPlaces(plot, u.width), top = (legend.at(-1)?.y ?? 0) + 8;
  const canvas = make('canvas', {width: u.width * ratio, height: (u.height + top) * ratio}), ctx = canvas.getContext('2d');
  ctx.scale(ratio, ratio);
  ctx.fillStyle = css('--bg');
  ctx.fillRect(0, 0, u.width, u.height + top);
  ctx.font = '12px system-ui, sans-serif';
  for (const {curve, x, y} of legend) {
    ctx.strokeStyle = colourOf(curve);
    ctx.lineWidth = 2.5;
    ctx.setLineDash(dashOf(curve));
    ctx.beginPath(); ctx.moveTo(x, y - 4); ctx.lineTo(x + 18, y - 4); ctx.stroke();
    ctx.fillStyle = css('--ink');
    ctx.fillText(curve.label, x + 24, y);
  }
  ctx.drawImage(u.ctx.canvas, 0, top, u.width, u.height);
  return canvas;
}
