// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Derived curves: the values of an expression. A signal is {time, rows, values}, or {number}. Signals of one result share its rows;
// those of several results are put on the union of their times, with both sides of every event, interpolated linearly.

//------------------------------------ times ------------------------------------

// Calls each(first, behind) for runs of rows with finite values; with `events` a run also ends where time stands still.
function eachRun(time, values, rows, events, each) {
  for (let from = 0; from < rows;) {
    if (!Number.isFinite(values[from])) { from++; continue; }
    let to = from + 1;
    while (to < rows && Number.isFinite(values[to]) && !(events && time[to] === time[to - 1])) to++;
    each(from, to);
    from = to;
  }
}

// Sorted times of both; each as often as in the one that has it more often.
function unionOfTimes(a, b) {
  const out = new Float64Array(a.rows + b.rows);
  let n = 0, i = 0, k = 0;
  while (i < a.rows || k < b.rows) {
    const t = i < a.rows && !(k < b.rows && b.time[k] < a.time[i]) ? a.time[i] : b.time[k];
    if (i < a.rows && a.time[i] === t) i++;
    if (k < b.rows && b.time[k] === t) k++;
    out[n++] = t;
  }
  return out.slice(0, n);
}

// Values at other times: between rows interpolated, beyond them none. Of several rows at one time the first is before an event, the
// last after it.
function onTimes(signal, time) {
  const {time: own, values, rows} = signal, out = new Float64Array(time.length);
  let i = 0; // the first own row that is not before t
  for (let k = 0; k < time.length;) {
    const t = time[k];
    let end = k + 1, same = 0;
    while (end < time.length && time[end] === t) end++;
    while (i < rows && own[i] < t) i++;
    while (i + same < rows && own[i + same] === t) same++;
    const between = i > 0 && i < rows ? values[i - 1] + (values[i] - values[i - 1]) * ((t - own[i - 1]) / (own[i] - own[i - 1])) : NaN;
    for (let j = 0; k < end; k++, j++) out[k] = same === 0 ? between : values[k === end - 1 ? i + same - 1 : Math.min(i + j, i + same - 1)];
  }
  return {time, rows: time.length, values: out};
}

function together(a, b) {
  if (a.time === b.time) return [a, b];
  const time = unionOfTimes(a, b);
  return [onTimes(a, time), onTimes(b, time)];
}

//------------------------------------ operations ------------------------------------

function mapped(a, f) {
  if (a.number !== undefined) return {number: f(a.number)};
  const out = new Float64Array(a.rows);
  for (let i = 0; i < a.rows; i++) out[i] = f(a.values[i]);
  return {time: a.time, rows: a.rows, values: out};
}

function combined(a, b, f) {
  if (b.number !== undefined) return mapped(a, v => f(v, b.number));
  if (a.number !== undefined) return mapped(b, v => f(a.number, v));
  const [p, q] = together(a, b), out = new Float64Array(p.rows);
  for (let i = 0; i < p.rows; i++) out[i] = f(p.values[i], q.values[i]);
  return {time: p.time, rows: p.rows, values: out};
}

// By the parabola through three neighbours (at the ends of a run the nearest three), a straight line where there are only two. A
// run ends at an event, so that no difference is taken across it; a single row between two events has no derivative.
function derivative({time, values, rows}) {
  const out = new Float64Array(rows).fill(NaN);
  const slope = (i, at) => { // of the parabola through rows i - 1, i, i + 1 at row `at`
    const h = time[i] - time[i - 1], g = time[i + 1] - time[i], p = (values[i] - values[i - 1]) / h, q = (values[i + 1] - values[i]) / g;
    const bend = (q - p) / (h + g);
    return p + bend * (2 * time[at] - time[i] - time[i - 1]);
  };
  eachRun(time, values, rows, true, (from, to) => {
    if (to - from === 2) out.fill((values[from + 1] - values[from]) / (time[from + 1] - time[from]), from, to);
    if (to - from < 3) return;
    for (let i = from + 1; i < to - 1; i++) out[i] = slope(i, i);
    out[from] = slope(from + 1, from);
    out[to - 1] = slope(to - 2, to - 1);
  });
  return {time, rows, values: out};
}

// By the trapezoid rule from the first row with a value; it ends at the first row without one.
function integralOf({time, values, rows}) {
  const out = new Float64Array(rows).fill(NaN);
  let begun = false;
  eachRun(time, values, rows, false, (from, to) => {
    if (begun) return;
    begun = true;
    out[from] = 0;
    for (let i = from + 1; i < to; i++) out[i] = out[i - 1] + 0.5 * (values[i] + values[i - 1]) * (time[i] - time[i - 1]);
  });
  return {time, rows, values: out};
}

// The mean of the lines between rows from half a window before to half a window after; less at the ends.
function movingMean({time, values, rows}, window) {
  const out = new Float64Array(rows).fill(NaN);
  eachRun(time, values, rows, false, (from, to) => {
    const sums = new Float64Array(to - from); // the integral up to each row
    for (let i = from + 1; i < to; i++) sums[i - from] = sums[i - from - 1] + 0.5 * (values[i] + values[i - 1]) * (time[i] - time[i - 1]);
    const first = time[from], last = time[to - 1];
    const upTo = (t, row) => { // the integral up to t, which is not before the time of the row and not behind that of the next
      if (row + 1 >= to || t === time[row]) return sums[row - from];
      const v = values[row] + (values[row + 1] - values[row]) * ((t - time[row]) / (time[row + 1] - time[row]));
      return sums[row - from] + 0.5 * (values[row] + v) * (t - time[row]);
    };
    let low = from, high = from;
    for (let i = from; i < to; i++) {
      const a = Math.max(first, time[i] - window / 2), b = Math.min(last, time[i] + window / 2);
      while (low + 1 < to && time[low + 1] <= a) low++;
      while (high + 1 < to && time[high + 1] <= b) high++;
      out[i] = b > a ? (upTo(b, high) - upTo(a, low)) / (b - a) : values[i];
    }
  });
  return {time, rows, values: out};
}

const OPERATIONS = {
  '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => a / b, '^': (a, b) => a ** b, min: Math.min, max: Math.max,
};

// result: of variables without one
function evaluate(tree, result) {
  if (tree.op === 'number') return {number: tree.value};
  if (tree.op === 'neg') return mapped(evaluate(tree.a, result), v => -v);
  if (tree.op === 'variable') {
    const {time, rows, byName} = tree.result ?? result;
    return {time, rows, values: byName.get(tree.name)?.values ?? time};
  }
  if (tree.op !== 'call') return combined(evaluate(tree.a, result), evaluate(tree.b, result), OPERATIONS[tree.op]);
  const [a, b] = tree.args.map(arg => evaluate(arg, result));
  if (b !== undefined && tree.name !== 'mean') return combined(a, b, OPERATIONS[tree.name]);
  if (tree.name === 'mean') return a.number !== undefined ? a : movingMean(a, b.number);
  if (tree.name === 'der') return a.number !== undefined ? {number: 0} : derivative(a);
  if (tree.name === 'integral') return integralOf(a);
  return mapped(a, Math[tree.name]);
}

//------------------------------------ units ------------------------------------

// The unit both terms of a sum have. A number has that of the other.
function sumUnit(what, a, b, treeA, treeB) {
  const isNumber = tree => { let n = true; eachVariable(tree, () => { n = false; }); return n; };
  if (isNumber(treeA)) return b;
  if (isNumber(treeB)) return a;
  if (!a || !b) return '';
  if (!sameUnit(a, b)) refuse('One side of ' + what + ' is in ' + a + ', the other in ' + b + '.');
  return what === '−' ? differenceUnit(a) : a;
}

function unitOf(tree, result) {
  if (tree.op === 'number') return '1';
  if (tree.op === 'neg') return unitOf(tree.a, result);
  if (tree.op === 'variable') {
    const column = (tree.result ?? result).byName.get(tree.name);
    return column ? column.unit : 's';
  }
  const [ta, tb] = tree.args ?? [tree.a, tree.b], a = unitOf(ta, result), b = tb ? unitOf(tb, result) : '';
  switch (tree.name ?? tree.op) {
    case '+': return sumUnit('+', a, b, ta, tb);
    case '-': return sumUnit('−', a, b, ta, tb);
    case 'min': case 'max': return sumUnit(tree.name, a, b, ta, tb);
    case '*': return unitProduct(a, 1, b, 1);
    case '/': return unitProduct(a, 1, b, -1);
    case '^': return tb.op === 'number' ? unitProduct(a, tb.value, '1', 1) : tb.op === 'neg' && tb.a.op === 'number' ? unitProduct(a, -tb.a.value, '1', 1) : '';
    case 'sqrt': return unitProduct(a, 0.5, '1', 1);
    case 'der': return unitProduct(differenceUnit(a), 1, 's', -1);
    case 'integral': return unitProduct(a, 1, 's', 1);
    case 'mean': case 'abs': return a;
    default: return a ? '1' : '';
  }
}

//------------------------------------ curves ------------------------------------

class DerivedCurve extends Line {
  // result: the one of variables that name none; null where all name one
  constructor(text, tree, result) {
    super();
    const sources = new Set();
    eachVariable(tree, v => sources.add(v.result ?? result));
    Object.assign(this, {text, tree, bound: result, sources: [...sources], visible: true, colour: 0, difference: false, derived: true});
    this.result = result ?? this.sources[0];
    this.unit = unitOf(tree, result);
  }
  get key() { return 'e:' + this.text + '@' + (this.bound?.name ?? ''); }
  get name() { return this.bound && results.length > 1 ? this.text + ' (' + this.bound.name + ')' : this.text; }
  get label() { return this.unit ? this.name + ' [' + this.unit + ']' : this.name; }
  get axisLabel() { return this.text + (this.unit ? ' [' + this.unit + ']' : ''); }
  get expression() {
    if (!this.bound || results.length === 1) return this.text;
    const at = '@' + quotedName(this.bound.name);
    return expressionText(this.tree, at);
  }
  // Rows of a live result grow.
  get signal() {
    const rows = this.sources.reduce((n, r) => n + r.rows, 0);
    if (!this.kept || this.keptRows !== rows) { this.kept = evaluate(this.tree, this.bound); this.keptRows = rows; }
    return this.kept;
  }
  get time() { return this.signal.time; }
  get rows() { return this.signal.rows; }
  get values() { return this.signal.values; }
}

// A tree as text, with a result for variables that have none.
function expressionText(tree, at) {
  const part = t => expressionText(t, at), inner = t => ['+', '-', '*', '/', '^', 'neg'].includes(t.op) ? '(' + part(t) + ')' : part(t);
  switch (tree.op) {
    case 'number': return String(tree.value);
    case 'variable': return quotedName(tree.name) + (tree.result ? '@' + quotedName(tree.result.name) : at);
    case 'neg': return '-' + inner(tree.a);
    case 'call': return tree.name + '(' + tree.args.map(part).join(', ') + ')';
    default: return inner(tree.a) + ' ' + tree.op + ' ' + inner(tree.b);
  }
}

// The curves of an expression: one for each result that has all variables that name none.
function derivedCurves(text) {
  const tree = parseExpression(text), free = new Set();
  let any = false;
  eachVariable(tree, v => { any = true; if (!v.result) free.add(v.name); });
  if (!any) refuse('There is no variable in it.');
  if (free.size === 0) return [new DerivedCurve(text, tree, null)];
  const having = results.filter(r => [...free].every(name => name === 'time' || r.byName.has(name)));
  if (having.length === 0) refuse('No result has all of ' + [...free].join(', ') + '; write NAME@RESULT, as in ' + quotedName([...free][0]) + '@' +
    quotedName(variables.get([...free][0])?.[0].result.name ?? results[0].name) + '.');
  return having.map(r => new DerivedCurve(text, tree, r));
}
