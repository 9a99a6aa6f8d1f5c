// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The results in the page, and how their rows are searched.

class Column {
  constructor(result, index, said) {
    Object.assign(this, {result, index, name: said.name, unit: said.unit || '', text: said.text || '', said});
  }
  get still() { return this.said.value !== undefined; }
  get values() {
    if (!this.array) {
      this.array = this.still ? new Float64Array(this.result.rows).fill(this.said.value ?? NaN)
                              : block('d' + this.result.index + '.' + this.index, this.said.kind);
    }
    return this.array;
  }
}

class Result {
  constructor(said, index) {
    Object.assign(this, {name: said.name, rows: said.rows, index});
    this.columns = said.columns.map((c, i) => new Column(this, i, c));
    this.byName = new Map(this.columns.map(c => [c.name, c]));
  }
  get time() { return this.times ??= this.rows > 0 ? block('t' + this.index, 'f64') : new Float64Array(0); }
  // Where time stands still: both sides of an event are recorded.
  get events() {
    if (this.marks && this.marksOf === this.rows) return this.marks;
    this.marks = [];
    this.marksOf = this.rows;
    for (let i = 1; i < this.rows; i++) {
      if (this.time[i] === this.time[i - 1] && this.time[i] !== this.marks.at(-1)) this.marks.push(this.time[i]);
    }
    return this.marks;
  }
}

const results = DATA.results.map((r, i) => new Result(r, i));
// Names distinguish results everywhere, also where one file is shown twice.
results.forEach((r, i) => { if (results.some((other, k) => k < i && other.name === r.name)) r.name += ' (' + (i + 1) + ')'; });

// The first row whose time is not less (or, with `after`, is greater).
function rowAt(time, n, t, after) {
  let low = 0, high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (after ? time[middle] <= t : time[middle] < t) low = middle + 1; else high = middle;
  }
  return low;
}

// Smallest and largest value of any range of rows, by way of those of blocks of 64.
class Extremes {
  constructor(values, n) {
    const blocks = Math.ceil(n / 64);
    Object.assign(this, {values, n, low: new Float64Array(blocks), high: new Float64Array(blocks)});
    for (let b = 0; b < blocks; b++) [this.low[b], this.high[b]] = this.scan(b * 64, Math.min(n, b * 64 + 64), Infinity, -Infinity);
  }
  scan(from, to, low, high) {
    const values = this.values;
    for (let i = from; i < to; i++) {
      const v = values[i];
      if (v < low) low = v;
      if (v > high) high = v;
    }
    return [low, high];
  }
  of(from, to) {
    const first = Math.ceil(from / 64), last = Math.floor(to / 64);
    if (first >= last) return this.scan(from, to, Infinity, -Infinity);
    let [low, high] = this.scan(from, first * 64, Infinity, -Infinity);
    for (let b = first; b < last; b++) {
      if (this.low[b] < low) low = this.low[b];
      if (this.high[b] > high) high = this.high[b];
    }
    return this.scan(last * 64, to, low, high);
  }
}

// The value at a time between rows; at an event the side after it, or before it where `left` says so.
function valueAt(time, values, n, t, left) {
  const i = rowAt(time, n, t, !left);
  if (left ? i < n && time[i] === t : i > 0 && time[i - 1] === t) return values[left ? i : i - 1];
  if (i === 0 || i === n) return NaN;
  return values[i - 1] + (values[i] - values[i - 1]) * ((t - time[i - 1]) / (time[i] - time[i - 1]));
}
