// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What is drawn. A line has time (or frequency), values, rows and extremes; a curve is a line with a name, a unit and a colour: a
// column of a result, or its difference to the same column of the first result. Derived curves are in derived.js.

class Line {
  // The values above zero, for a logarithmic axis: the others are gaps.
  get positive() {
    if (!this.above || this.above.rows !== this.rows) this.above = new PositiveLine(this);
    return this.above;
  }
  get extremes() {
    if (!this.known || this.known.n !== this.rows || this.known.values !== this.values) this.known = new Extremes(this.values, this.rows);
    return this.known;
  }
}

class PositiveLine extends Line {
  constructor(line) {
    super();
    const {time, rows, values} = line;
    Object.assign(this, {time, rows, values: Float64Array.from(values.subarray(0, rows), v => v > 0 ? v : NaN)});
  }
}

class Curve extends Line {
  constructor(column, difference) {
    super();
    Object.assign(this, {column, difference: !!difference, visible: true, colour: 0});
    this.result = column.result;
  }
  get key() { return (this.difference ? 'd:' : 'c:') + this.column.name + '@' + this.result.name; }
  get sources() { return this.difference ? [results[0], this.result] : [this.result]; }
  get unit() { return this.difference ? differenceUnit(this.column.unit) : this.column.unit; }
  get name() {
    const name = this.column.name;
    if (this.difference) return 'Δ ' + name + ' (' + this.result.name + ' − ' + results[0].name + ')';
    return results.length > 1 ? name + ' (' + this.result.name + ')' : name;
  }
  get label() { return this.unit ? this.name + ' [' + this.unit + ']' : this.name; }
  get axisLabel() { return (this.difference ? 'Δ ' : '') + this.column.name + (this.unit ? ' [' + this.unit + ']' : ''); }
  // As it is written in an expression; null where it cannot be.
  get expression() {
    const variable = file => quotedName(this.column.name) + (results.length > 1 ? '@' + quotedName(file) : '');
    return this.difference ? variable(this.result.name) + ' - ' + variable(results[0].name) : variable(this.result.name);
  }
  get time() { return this.result.time; }
  get rows() { return this.result.rows; }
  get values() {
    if (!this.difference) return this.column.values;
    return this.array ??= differenceOf(this.column, results[0].byName.get(this.column.name));
  }
}

function differenceOf(column, reference) {
  const {time, rows} = column.result, values = column.values, out = new Float64Array(rows);
  const other = reference.result;
  for (let i = 0; i < rows; i++) {
    const left = i + 1 < rows && time[i + 1] === time[i];
    out[i] = values[i] - valueAt(other.time, reference.values, other.rows, time[i], left);
  }
  return out;
}
