// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Very many lines or points as a picture. Every pixel counts what covers it and adds up the colours, so that the picture depends on
// no order: the more, the denser, and where colours meet, their mean. Counts are integers: what was added is taken away again
// exactly, so that only the cases that a brush adds or removes are drawn when it moves.

const COVER = 16; // a pixel that is covered once

class Raster {
  constructor() { this.resize(1, 1, 0); }
  resize(w, h, n) {
    Object.assign(this, {w, h, counts: new Int32Array(w * h), tinted: new Int32Array(w * h), sums: new Int32Array(w * h), drawn: new Uint8Array(n), cases: 0});
  }
  clear() {
    for (const a of [this.counts, this.tinted, this.sums, this.drawn]) a.fill(0);
    this.cases = 0;
  }

  // Pixels of a column are next to each other.
  cover(at, amount, level) {
    this.counts[at] += amount;
    if (level === NO_COLOUR) return;
    this.tinted[at] += amount;
    this.sums[at] += amount * level;
  }
  span(x, low, high, sign, level) {
    const {h} = this;
    if (!(high > 0) || !(low < h)) return;
    if (low < 0) low = 0;
    if (high > h) high = h;
    const first = low | 0, last = high | 0, base = x * h;
    if (first === last) { this.cover(base + first, sign * ((high - low) * COVER + 0.5 | 0), level); return; }
    this.cover(base + first, sign * ((first + 1 - low) * COVER + 0.5 | 0), level);
    for (let y = first + 1; y < last; y++) this.cover(base + y, sign * COVER, level);
    if (last < h) this.cover(base + last, sign * ((high - last) * COVER + 0.5 | 0), level);
  }

  // A line through points with increasing x; NaN interrupts it. Each column of pixels is covered once, from the lowest to the highest place.
  polyline(xs, ys, n, half, sign, level) {
    const {w} = this;
    let x0 = NaN, y0 = NaN, column = -1, low = 0, high = 0;
    for (let k = 0; k < n; k++) {
      const x1 = xs[k], y1 = ys[k];
      if (!(y1 === y1)) { if (column >= 0 && column < w) this.span(column, low - half, high + half, sign, level); column = -1; x0 = NaN; continue; }
      const c1 = Math.floor(x1);
      if (!(x0 === x0)) { column = c1; low = high = y1; }
      else if (c1 === column) { if (y1 < low) low = y1; if (y1 > high) high = y1; }
      else {
        const slope = (y1 - y0) / (x1 - x0);
        let y = y0 + slope * (column + 1 - x0);
        if (y < low) low = y;
        if (y > high) high = y;
        if (column >= 0 && column < w) this.span(column, low - half, high + half, sign, level);
        let c = column + 1;
        if (c < 0) { y += slope * Math.min(-c, c1 - c); c = Math.min(0, c1); }
        for (const end = Math.min(c1, w); c < end; c++) {
          const next = y + slope;
          if (slope > 0) this.span(c, y - half, next + half, sign, level); else this.span(c, next - half, y + half, sign, level);
          y = next;
        }
        if (c1 >= w) return;
        column = c1; low = Math.min(y, y1); high = Math.max(y, y1);
      }
      x0 = x1; y0 = y1;
    }
    if (column >= 0 && column < w) this.span(column, low - half, high + half, sign, level);
  }
  disc(x, y, radius, sign, level) {
    const first = Math.max(0, Math.floor(x - radius)), last = Math.min(this.w - 1, Math.ceil(x + radius) - 1);
    for (let c = first; c <= last; c++) {
      const off = Math.abs(c + 0.5 - x), half = off < radius ? Math.sqrt(radius * radius - off * off) : 0;
      if (half > 0) this.span(c, y - half, y + half, sign, level);
    }
  }

  // Adds and removes cases until `wanted` are drawn; draw(i, sign, level) covers the pixels of one. Sizes and colours may change
  // where it pauses: then nothing is drawn yet, and the view is drawn once more.
  * update(wanted, levels, draw) {
    this.changed = 0; // the number of cases that this update has added or removed
    for (let i = 0, since = 0; i < this.drawn.length; i++) {
      if (this.drawn[i] === wanted[i]) continue;
      const sign = wanted[i] ? 1 : -1;
      draw(i, sign, levels ? levels[i] : 0);
      this.drawn[i] = wanted[i];
      this.cases += sign;
      this.changed++;
      if (++since === 64) { since = 0; yield; }
    }
  }

  // table: 256 colours; none: that of cases without a number; strength: how opaque one line is.
  paint(canvas, table, none, strength) {
    const {w, h, counts, tinted, sums} = this, image = new ImageData(w, h), pixels = new Uint32Array(image.data.buffer);
    const most = 64 * COVER, alphas = Uint8Array.from({length: most + 1}, (_, n) => Math.round(255 * (1 - (1 - strength) ** (n / COVER))));
    const packed = ([r, g, b]) => (b << 16 | g << 8 | r) >>> 0;
    const colours = Uint32Array.from(table, packed), scale = 255 / (LEVELS - 1);
    for (let x = 0, p = 0; x < w; x++) {
      for (let y = 0; y < h; y++, p++) {
        const n = counts[p];
        if (n <= 0) continue;
        const t = tinted[p];
        let c = t > 0 ? colours[Math.min(255, sums[p] / t * scale + 0.5 | 0)] : packed(none);
        if (t > 0 && t < n) c = packed(mixed([none, [c & 255, c >> 8 & 255, c >> 16 & 255]], t / n));
        pixels[y * w + x] = (c | alphas[n < most ? n : most] << 24) >>> 0;
      }
    }
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    canvas.getContext('2d').putImageData(image, 0, 0);
  }
}

// Few lines are opaque, many are not.
const strengthFor = cases => Math.min(0.9, Math.max(0.03, 7 / Math.sqrt(Math.max(1, cases))));
