// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Quantiles of curves over time: at each time the cases in the order of their values, which is sorted once, so that the quantiles of
// any selection are found by counting.

const MOST_SORTED = 1 << 21; // the number of a case and the bits of its value share one double

class Order {
  constructor(curve) {
    const {times, curveCases} = study;
    Object.assign(this, {curve, done: 0, rows: curveCases, lists: new Uint32Array(curveCases * times.length), counts: new Uint32Array(times.length)});
  }
  // Sorts the cases at one time.
  sortAt(k) {
    const {curve, rows, lists} = this, {values} = curve, T = study.times.length;
    const value = new Float32Array(1), bits = new Uint32Array(value.buffer), keys = new Float64Array(rows);
    let n = 0;
    for (let r = 0; r < rows; r++) {
      const v = values[r * T + k];
      if (!Number.isFinite(v)) continue;
      let ordered = v + 0x80000000; // of integers
      if (values instanceof Float32Array) {
        value[0] = v;
        ordered = bits[0] & 0x80000000 ? ~bits[0] >>> 0 : (bits[0] | 0x80000000) >>> 0;
      }
      keys[n++] = ordered * MOST_SORTED + r;
    }
    const sorted = keys.subarray(0, n).sort(), base = k * rows;
    for (let i = 0; i < n; i++) lists[base + i] = sorted[i] % MOST_SORTED;
    this.counts[k] = n;
  }
  * sort() {
    for (; this.done < study.times.length; this.done++) { this.sortAt(this.done); yield; }
  }
  // The values at positions p * (m - 1) of the m selected ones at a time, interpolated linearly; returns m.
  quantilesAt(k, probabilities, out, at) {
    const {rows, lists, curve} = this, {values} = curve, {mask, curveStep} = study, T = study.times.length, base = k * rows, n = this.counts[k];
    let m = 0;
    for (let i = 0; i < n; i++) m += mask[lists[base + i] * curveStep];
    if (m === 0) { for (let q = 0; q < probabilities.length; q++) out[at + q] = NaN; return 0; }
    let seen = -1, i = -1, last = NaN;
    const to = position => { // probabilities increase
      while (seen < position) { i++; if (mask[lists[base + i] * curveStep] === 1) { seen++; last = values[lists[base + i] * T + k]; } }
      return last;
    };
    for (let q = 0; q < probabilities.length; q++) {
      const position = probabilities[q] * (m - 1), whole = Math.floor(position), part = position - whole;
      const low = whole === seen - 1 ? this.before : to(whole);
      out[at + q] = low;
      if (part > 0) { this.before = low; out[at + q] = low + (to(whole + 1) - low) * part; }
    }
    return m;
  }
}
