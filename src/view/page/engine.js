// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What elkjs expects of its surroundings and an engine of 2009 does not have. elkjs thinks it is a worker: messages come and go.
var self = this, waiting = [], answers = [];
self.setTimeout = function (f) { waiting.push(f); };
self.postMessage = function (message) { answers.push(message); };
self.console = {log: function () {}, warn: function () {}, error: function () {}};
Math.sign = function (x) { return x > 0 ? 1 : x < 0 ? -1 : x; };

// Keys are numbers and texts; entries come in the order in which they were put in.
self.Map = function () { this.size = 0; this.table = Object.create(null); this.list = []; };
Map.prototype = {
  find: function (k) { return this.table[typeof k + ' ' + k]; },
  get: function (k) { var e = this.find(k); return e ? e[1] : undefined; },
  has: function (k) { return this.find(k) !== undefined; },
  set: function (k, v) {
    var e = this.find(k);
    if (e) e[1] = v;
    else { this.list.push(this.table[typeof k + ' ' + k] = [k, v]); this.size++; }
    return this;
  },
  'delete': function (k) {
    var e = this.find(k);
    if (!e) return false;
    delete this.table[typeof k + ' ' + k];
    this.list.splice(this.list.indexOf(e), 1);
    this.size--;
    return true;
  },
  entries: function () {
    var list = this.list, i = 0;
    return {next: function () { return i < list.length ? {done: false, value: list[i++]} : {done: true, value: undefined}; }};
  }
};

// JSON of a diagram -> SVG
function drawDiagram(json) {
  var diagram = bundled(JSON.parse(json));
  self.onmessage({data: {id: 0, cmd: 'register', algorithms: ['layered']}});
  self.onmessage({data: {id: 1, cmd: 'layout', graph: layoutInput(diagram, {}), layoutOptions: {}, options: {}}});
  while (waiting.length > 0) waiting.shift()();
  var answer = answers.filter(function (a) { return a.id === 1; })[0];
  if (!answer || answer.error) throw new Error('the layout failed: ' + (answer ? answer.error.message : 'no answer'));
  answer.data.edges = answer.data.edges || [];
  return markup(diagramShapes(diagram, answer.data, {}));
}
