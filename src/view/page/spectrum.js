// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Amplitude spectra: a curve is sampled on a uniform grid, its mean is removed, a window is applied, and the one-sided amplitudes of
// the discrete Fourier transform are scaled by the window's gain, so that a sine of amplitude A has a peak of height A.

const WINDOWS = { // name -> [text, coefficients of cosines]
  none: ['no window', [1]],
  hann: ['Hann', [0.5, 0.5]],
  blackman: ['Blackman', [0.42, 0.5, 0.08]],
  flattop: ['flat top', [0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368]],
};
const MAX_SAMPLES = 1 << 20, MIN_SAMPLES = 16;

const windowAt = (coefficients, i, n) => coefficients.reduce((sum, a, k) => sum + (k % 2 ? -a : a) * Math.cos(2 * Math.PI * k * i / n), 0);

//------------------------------------ the transform ------------------------------------

// In place, of a power of two values.
function fft(re, im) {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) { [re[i], re[j]] = [re[j], re[i]]; [im[i], im[j]] = [im[j], im[i]]; }
  }
  const cosines = new Float64Array(n / 2), sines = new Float64Array(n / 2);
  for (let k = 0; k < n / 2; k++) { cosines[k] = Math.cos(2 * Math.PI * k / n); sines[k] = -Math.sin(2 * Math.PI * k / n); }
  for (let size = 2; size <= n; size *= 2) {
    const half = size / 2, stride = n / size;
    for (let from = 0; from < n; from += size) {
      for (let k = 0; k < half; k++) {
        const a = from + k, b = a + half, c = cosines[k * stride], s = sines[k * stride];
        const x = re[b] * c - im[b] * s, y = re[b] * s + im[b] * c;
        re[b] = re[a] - x; im[b] = im[a] - y;
        re[a] += x; im[a] += y;
      }
    }
  }
}

// Of any number of real values: Bluestein's algorithm writes it as a convolution, which takes three transforms of a power of two.
function transform(values) {
  const n = values.length, im = new Float64Array(n);
  if ((n & (n - 1)) === 0) { const re = Float64Array.from(values); fft(re, im); return [re, im]; }
  let m = 1;
  while (m < 2 * n - 1) m *= 2;
  const c = new Float64Array(n), s = new Float64Array(n);
  for (let i = 0; i < n; i++) { const angle = Math.PI * ((i * i) % (2 * n)) / n; c[i] = Math.cos(angle); s[i] = Math.sin(angle); }
  const ar = new Float64Array(m), ai = new Float64Array(m), br = new Float64Array(m), bi = new Float64Array(m);
  for (let i = 0; i < n; i++) {
    ar[i] = values[i] * c[i]; ai[i] = -values[i] * s[i];
    br[i] = br[(m - i) % m] = c[i]; bi[i] = bi[(m - i) % m] = s[i];
  }
  fft(ar, ai);
  fft(br, bi);
  for (let i = 0; i < m; i++) { // the conjugate, so that the same transform goes back
    const x = ar[i] * br[i] - ai[i] * bi[i], y = ar[i] * bi[i] + ai[i] * br[i];
    ar[i] = x; ai[i] = -y;
  }
  fft(ar, ai);
  const re = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const x = ar[i] / m, y = -ai[i] / m;
    re[i] = x * c[i] + y * s[i]; im[i] = y * c[i] - x * s[i];
  }
  return [re, im];
}

//------------------------------------ samples ------------------------------------

// The rows of a curve in a span of time, as [from, until]; null where there are not two different times.
function spanOf(line, span) {
  if (line.rows === 0) return null;
  const from = Math.max(line.time[0], span?.[0] ?? -Infinity), until = Math.min(line.time[line.rows - 1], span?.[1] ?? Infinity);
  return until > from ? [from, until] : null;
}

// Rows that are equally far apart are the samples themselves; others are interpolated at four times as many times as there are rows.
// The last time is the first of the next period, so that frequencies are multiples of 1 / duration.
function sampled(line, from, until) {
  const first = rowAt(line.time, line.rows, from, false), end = rowAt(line.time, line.rows, until, true), length = until - from;
  let intervals = 0, smallest = Infinity, largest = 0;
  for (let i = first + 1; i < end; i++) {
    const step = line.time[i] - line.time[i - 1];
    if (step > 0) { intervals++; smallest = Math.min(smallest, step); largest = Math.max(largest, step); }
  }
  const uniform = intervals >= MIN_SAMPLES && largest - smallest < 1e-6 * length / intervals && intervals <= MAX_SAMPLES &&
    Math.abs(line.time[first] - from) + Math.abs(until - line.time[end - 1]) < 1e-6 * length / intervals;
  let n = uniform ? intervals : MIN_SAMPLES;
  while (!uniform && n < 4 * intervals && n < MAX_SAMPLES) n *= 2;
  const out = new Float64Array(n);
  for (let i = 0, row = first; i < n; i++) {
    const t = from + length * i / n;
    while (row < line.rows && line.time[row] <= t) row++;
    const a = row - 1, b = row;
    // a row that the rounding of t misses by a little counts as met
    const part = a < 0 ? 1 : b >= line.rows ? 0 : (t - line.time[a]) / (line.time[b] - line.time[a]);
    out[i] = part < 1e-9 ? line.values[a] : part > 1 - 1e-9 ? line.values[b] : line.values[a] + part * (line.values[b] - line.values[a]);
  }
  return out;
}

class Spectrum extends Line {
  constructor(line, span, window) {
    super();
    const part = spanOf(line, span), samples = part ? sampled(line, ...part) : [];
    Object.assign(this, {span: part, rows: 0, time: new Float64Array(0), values: new Float64Array(0), samples: samples.length});
    if (samples.length === 0 || !samples.every(Number.isFinite)) return; // a gap has no spectrum
    const n = samples.length, mean = samples.reduce((sum, v) => sum + v, 0) / n, coefficients = WINDOWS[window][1];
    const [re, im] = transform(samples.map((v, i) => (v - mean) * windowAt(coefficients, i, n)));
    this.rows = Math.floor(n / 2) + 1;
    this.time = Float64Array.from({length: this.rows}, (_, k) => k / (part[1] - part[0]));
    this.values = Float64Array.from({length: this.rows}, (_, k) =>
      k === 0 ? Math.abs(mean) : (2 * k === n ? 1 : 2) * Math.hypot(re[k], im[k]) / (n * coefficients[0]));
  }
}

// Kept with its curve until the span, the window or the rows are others.
function spectrumOf(curve, span, window) {
  const key = JSON.stringify([span, window, curve.rows]);
  if (curve.spectrumKey !== key) Object.assign(curve, {spectrumKey: key, spectrum: new Spectrum(curve, span, window)});
  return curve.spectrum;
}
