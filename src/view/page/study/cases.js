// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The cases of the study: factors and measures (columns with a number per case), curves, failures, and which cases are selected.
// A brush is an interval of a column; a case is selected when it is in the brushes of all columns.

class Column {
  constructor(said, index) {
    Object.assign(this, {index, name: said.name, unit: said.unit || '', text: said.text || '', role: said.role, said, brush: null, log: false});
  }
  get label() { return this.unit ? this.name + ' [' + this.unit + ']' : this.name; }
  get values() { return this.array ??= block('c' + this.index, this.said.kind); }
  // The least and greatest finite value; [NaN, NaN]: there is none.
  get range() { return this.known ??= finiteRange(this.values); }
  get rangeAbove() { return this.knownAbove ??= finiteRange(this.values, 0); }
  // A logarithmic scale needs a value above zero.
  get isLog() { return this.log && this.rangeAbove[0] > 0; }
  get scale() {
    const [low, high] = this.isLog ? this.rangeAbove : this.range;
    if (low < high) return new Scale(low, high, this.isLog);
    return new Scale(...(this.isLog ? paddedLog(low, high) : padded(low, high)), this.isLog);
  }
  // Most values in a small part of the range, all above zero: a logarithmic scale shows more.
  get seemsLog() {
    const [low, high] = this.range;
    if (!(low > 0) || high < 100 * low) return false;
    const sorted = Float64Array.from(this.values).filter(Number.isFinite).sort();
    return sorted[sorted.length >> 1] - low < 0.12 * (high - low);
  }
  // With the unit, which a number without one has not.
  format(v) { return short(v) + (this.unit && Number.isFinite(v) ? ' ' + this.unit : ''); }
}

// 10,000
const grouped = n => n.toLocaleString('en-US');
const casesText = n => grouped(n) + (n === 1 ? ' case' : ' cases');

function finiteRange(values, above = -Infinity) {
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v > above && v < low) low = v;
    if (v < Infinity && v > high) high = v;
  }
  return low <= high ? [low, high] : [NaN, NaN];
}

class CaseCurve {
  constructor(said, index) {
    Object.assign(this, {index, name: said.name, unit: said.unit || '', text: said.text || '', said});
  }
  get label() { return this.unit ? this.name + ' [' + this.unit + ']' : this.name; }
  get values() { return this.array ??= block('y' + this.index, this.said.kind); }
  get range() { return this.known ??= finiteRange(this.values); }
  get rangeAbove() { return this.knownAbove ??= finiteRange(this.values, 0); }
  get order() { return this.sorted ??= new Order(this); }
  // The value of a case at a time, interpolated linearly; NaN where the case has no curve.
  at(i, t) {
    const row = study.rowOf(i), k = study.timeIndex(t);
    if (row < 0 || k < 0) return NaN;
    const base = row * study.times.length, t0 = study.times[k], t1 = study.times[k + 1], v0 = this.values[base + k];
    return t1 === undefined || t <= t0 ? v0 : v0 + (this.values[base + k + 1] - v0) * ((t - t0) / (t1 - t0));
  }
  format(v) { return short(v) + (this.unit && Number.isFinite(v) ? ' ' + this.unit : ''); }
}

const study = {
  n: DATA.cases,
  columns: DATA.columns.map((c, i) => new Column(c, i)),
  curves: DATA.curves.map((c, i) => new CaseCurve(c, i)),
  curveStep: DATA.curveStep, curveCases: DATA.curveCases,
  reasons: new Map(DATA.failures), // of failed cases, by their number
  mask: new Uint8Array(DATA.cases).fill(1), selected: DATA.cases,

  get factors() { return this.columns.filter(c => c.role === 'factor'); },
  get measures() { return this.columns.filter(c => c.role === 'measure'); },
  get times() { return this.timeArray ??= this.curves.length > 0 ? block('times', 'f64') : new Float64Array(0); },
  find(name) { return this.columns.find(c => c.name === name); },
  // The row of a case in the arrays of curves; -1: it has none in this page.
  rowOf(i) { return this.curves.length > 0 && i % this.curveStep === 0 ? i / this.curveStep : -1; },
  // The last time that is not behind t; -1: t is outside.
  timeIndex(t) {
    const times = this.times;
    if (times.length === 0 || !(t >= times[0]) || t > times[times.length - 1]) return -1;
    let low = 0, high = times.length - 1;
    while (low < high) { const middle = (low + high + 1) >> 1; if (times[middle] <= t) low = middle; else high = middle - 1; }
    return low;
  },

  //------------------------------------ selection ------------------------------------

  get brushed() { return this.columns.filter(c => c.brush); },
  isSelected(i) { return this.mask[i] === 1; },
  select() {
    const {mask, n} = this;
    mask.fill(1);
    for (const column of this.brushed) {
      const [low, high] = column.brush, values = column.values;
      for (let i = 0; i < n; i++) if (!(values[i] >= low && values[i] <= high)) mask[i] = 0;
    }
    let count = 0;
    for (let i = 0; i < n; i++) count += mask[i];
    this.selected = count;
  },
};

// A range of which one end is behind the other, or which is no range, is no brush.
const brushOf = range => isRange(range) || (Array.isArray(range) && range.length === 2 && Number.isFinite(range[0]) && range[0] === range[1]) ? [...range] : null;
