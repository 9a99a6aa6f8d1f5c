// From rows to lines. A pen has moveTo and lineTo: a Path2D for the screen, a text for SVG. Only drawing is thinned out: at
// most four points a pixel (first, smallest, largest, last), which look the same as all of them.

class TextPen {
  constructor() { this.text = ''; this.place = ''; }
  put(letter, x, y) { this.text += letter + x.toFixed(1) + ' ' + y.toFixed(1); }
  moveTo(x, y) { this.put('M', x, y); }
  lineTo(x, y) { this.put('L', x, y); }
}

// to: {x(t), y(v), left, right [pixels], from, until [time]}
function traceOverTime(pen, curve, to) {
  const {time, values, rows} = curve;
  let i = Math.max(0, rowAt(time, rows, to.from, false) - 1);
  const end = Math.min(rows, rowAt(time, rows, to.until, true) + 1);
  if (end - i < 4 * (to.right - to.left)) return traceAll(pen, time, values, i, end, to);
  const width = (to.until - to.from) / (to.right - to.left);
  let down = false;
  const point = (row, y) => {
    if (down) pen.lineTo(to.x(time[row]), y); else pen.moveTo(to.x(time[row]), y);
    down = true;
  };
  for (let pixel = 0; i < end; pixel++) {
    const next = Math.min(end, Math.max(i + 1, rowAt(time, rows, to.from + pixel * width, false)));
    const [low, high] = curve.extremes.of(i, next);
    if (low > high) down = false; // nothing but gaps
    else {
      const first = values[i], last = values[next - 1];
      if (first === first) point(i, to.y(first));
      if (low < first || low < last) point(i, to.y(low));
      if (high > first || high > last) point(i, to.y(high));
      if (last === last) point(next - 1, to.y(last)); else down = false;
    }
    i = next;
  }
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
