// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// From rows to lines. A pen has moveTo and lineTo: a Path2D for the screen, a text for SVG. Only drawing is thinned out: at
// most four points a pixel (first, smallest, largest, last), which look the same as all of them.

class TextPen {
  constructor() { this.text = ''; this.place = ''; }
  put(letter, x, y) { this.text += letter + x.toFixed(1) + ' ' + y.toFixed(1); }
  moveTo(x, y) { this.put('M', x, y); }
  lineTo(x, y) { this.put('L', x, y); }
}

// to: {x(t), y(v), left, right [pixels], from, until [time], at(pixel): the time there}
function rowsInView(curve, to) {
  const {time, rows} = curve;
  return [Math.max(0, rowAt(time, rows, to.from, false) - 1), Math.min(rows, rowAt(time, rows, to.until, true) + 1)];
}

const isDense = (curve, to) => {
  const [from, until] = rowsInView(curve, to);
  return until - from >= 4 * (to.right - to.left);
};

// Calls each(first row, row behind the last, smallest, largest) for what falls on a pixel.
function eachPixel(curve, to, each) {
  let [i, end] = rowsInView(curve, to);
  for (let pixel = 1; i < end; pixel++) {
    const next = Math.min(end, Math.max(i + 1, rowAt(curve.time, curve.rows, to.at(pixel), false)));
    const [low, high] = curve.extremes.of(i, next);
    each(i, next, low, high);
    i = next;
  }
}

function traceOverTime(pen, curve, to) {
  const {time, values} = curve;
  if (!isDense(curve, to)) return traceAll(pen, time, values, ...rowsInView(curve, to), to);
  let down = false;
  const point = (row, v) => {
    if (down) pen.lineTo(to.x(time[row]), to.y(v)); else pen.moveTo(to.x(time[row]), to.y(v));
    down = true;
  };
  eachPixel(curve, to, (i, next, low, high) => {
    const first = values[i], last = values[next - 1];
    if (low > high) { down = false; return; } // nothing but gaps
    if (first === first) point(i, first);
    if (low < first || low < last) point(i, low);
    if (high > first || high > last) point(i, high);
    if (last === last) point(next - 1, last); else down = false;
  });
}

// Where there are many rows to a pixel the line is a band: its outline is filled, many times faster than a stroke.
function outlineOverTime(pen, curve, to, thickness) {
  const {time, values} = curve;
  let upper = [], lower = [], last = NaN;
  const close = () => {
    if (upper.length > 0) {
      pen.moveTo(...upper[0]);
      for (const point of upper) pen.lineTo(...point);
      for (let i = lower.length - 1; i >= 0; i--) pen.lineTo(...lower[i]);
      pen.closePath();
    }
    upper = []; lower = []; last = NaN;
  };
  eachPixel(curve, to, (i, next, low, high) => {
    if (low > high) { close(); return; }
    if (last < low) low = last; // joined to what is before it
    if (last > high) high = last;
    const x = to.x(time[i]), top = to.y(high), bottom = to.y(low), pad = Math.max(0.5, (thickness - (bottom - top)) / 2);
    upper.push([x, top - pad]);
    lower.push([x, bottom + pad]);
    last = values[next - 1];
  });
  close();
}

function traceAll(pen, across, values, from, until, to) {
  let down = false;
  for (let i = from; i < until; i++) {
    const x = across[i], v = values[i];
    if (!Number.isFinite(v) || !Number.isFinite(x)) down = false;
    else if (down) pen.lineTo(to.x(x), to.y(v));
    else { pen.moveTo(to.x(x), to.y(v)); down = true; }
  }
}

// One column over another: a point is left out where it falls on the half pixel of the one before.
function traceOver(pen, across, curve, to) {
  const {values, rows} = curve;
  let down = false, lastX = NaN, lastY = NaN;
  for (let i = 0; i < rows; i++) {
    if (!Number.isFinite(values[i]) || !Number.isFinite(across[i])) { down = false; continue; }
    const x = Math.round(2 * to.x(across[i])) / 2, y = Math.round(2 * to.y(values[i])) / 2;
    if (down && x === lastX && y === lastY) continue;
    if (down) pen.lineTo(x, y); else pen.moveTo(x, y);
    down = true; lastX = x; lastY = y;
  }
}
