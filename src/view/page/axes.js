// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Axes: linear and logarithmic scales, ranges around data, ticks and the text of numbers.

// Values from min to max and parts of an axis from 0 to 1.
class Scale {
  constructor(min, max, log) {
    Object.assign(this, {min, max, log});
    [this.low, this.high] = log ? [Math.log10(min), Math.log10(max)] : [min, max];
  }
  part(v) { return ((this.log ? Math.log10(v) : v) - this.low) / (this.high - this.low); }
  at(part) {
    const v = this.low + part * (this.high - this.low);
    return this.log ? Math.min(1e300, Math.max(1e-300, 10 ** v)) : v;
  }
  // The range after zooming by a factor around a part and moving by a part.
  zoomed(factor, around, move) { return [this.at(around - around * factor + move), this.at(around + (1 - around) * factor + move)]; }
}

function padded(low, high) {
  if (!(low <= high)) return [0, 1];
  low = Math.max(low, -8e307); high = Math.min(high, 8e307);
  const size = Math.max(Math.abs(low), Math.abs(high)), width = high - low;
  if (width <= 1e-12 * size || width === 0) { const half = size > 0 ? size / 2 : 1; return [low - half, high + half]; }
  return [low - 0.05 * width, high + 0.05 * width];
}

function paddedLog(low, high) {
  if (!(low <= high) || !(low > 0)) return [0.1, 10];
  if (high <= low * (1 + 1e-12)) return [low / 2, Math.min(1e300, high * 2)];
  return new Scale(low, Math.min(high, 1e300), true).zoomed(1.1, 0.5, 0);
}

//------------------------------------ ticks ------------------------------------

const niceStep = raw => {
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find(s => s * power >= raw * (1 - 1e-9)) ?? 10);
};

function multiples(min, max, step) {
  const out = [];
  for (let i = Math.ceil(min / step - 1e-9); i * step <= max + 1e-9 * step; i++) out.push(+(i * step).toPrecision(14));
  return out;
}

// Powers of ten, or every second, fifth, ... of them; between them 2 and 5 where there is room; multiples of a step within a decade.
function logTicks(min, max, most) {
  const decades = Math.log10(max / min);
  if (decades < 1) return multiples(min, max, niceStep((max - min) / Math.max(2, most)));
  const between = most >= 3 * decades ? [1, 2, 5] : [1], stride = most >= decades ? 1 : niceStep(decades / most);
  const out = [], first = Math.floor(Math.log10(min) / stride) * stride;
  for (let exponent = first; exponent <= Math.log10(max); exponent += stride) {
    for (const factor of between) {
      const v = Number(factor + 'e' + exponent);
      if (v >= min * (1 - 1e-9) && v <= max * (1 + 1e-9)) out.push(v);
    }
  }
  return out;
}

//------------------------------------ numbers ------------------------------------

const short = v => v === undefined || Number.isNaN(v) ? '–' : Math.abs(v) >= 1e6 || (v !== 0 && Math.abs(v) < 1e-4) ? v.toExponential(4)
  : String(+v.toPrecision(6));

// As many digits as it takes to tell ticks of this distance apart.
function tickTexts(ticks, step) {
  const size = Math.max(...ticks.map(Math.abs)), digits = step > 0 ? Math.min(15, Math.max(6, Math.ceil(Math.log10(size / step)) + 2)) : 6;
  return ticks.map(v => {
    const rounded = +v.toPrecision(digits), large = Math.abs(rounded) >= 1e6 || (rounded !== 0 && Math.abs(rounded) < 1e-4);
    return large ? rounded.toExponential() : String(rounded);
  });
}
