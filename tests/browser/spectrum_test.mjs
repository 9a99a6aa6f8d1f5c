// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Spectra: sines of known amplitude and frequency, even and uneven rows, against a transform by its definition.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';

import {close, download, open, range, run, start, stop} from './browser.mjs';

before(start);
after(stop);

function write(path, times, columns) {
  const names = Object.keys(columns);
  fs.writeFileSync(path, ['time,' + names.join(), ...times.map(t => [t, ...names.map(n => columns[n](t))].join())].join('\n') + '\n');
}
const sine = (amplitude, frequency, phase = 0) => t => amplitude * Math.sin(2 * Math.PI * frequency * t + phase);

// 1000 intervals in 10 s: no power of two. 3 sin(2 pi 4 t) + 0.5 cos(2 pi 12.5 t) + 7, and one between two frequencies
const even = Array.from({length: 1001}, (_, i) => i / 100);
const tones = t => sine(3, 4, 0.3)(t) + sine(0.5, 12.5, 1)(t) + 7, between = sine(2, 8.137);
write('even.csv', even, {'x [V]': tones, 'between [V]': between});
run('view', 'even.csv', '-o', 'even.html', '--only', 'x');

const amplitudes = async page => {
  const csv = await download(page, () => page.locator('.plot').last().getByLabel('Export').selectOption('csv'));
  const rows = csv.bytes.toString().trim().split('\n');
  return {head: rows[0], rows: rows.slice(1).map(l => l.split(',').map(Number))};
};
const at = (rows, frequency) => rows.reduce((best, r) => Math.abs(r[0] - frequency) < Math.abs(best[0] - frequency) ? r : best)[1];
const makeSpectrum = page => page.locator('.plot').first().getByRole('button', {name: 'Spectrum'}).click();

test('a sine has its amplitude at its frequency, with every window', async () => {
  const page = await open(process.cwd() + '/even.html');
  await makeSpectrum(page);
  const plot = page.locator('.plot').last();
  for (const window of ['none', 'hann', 'blackman', 'flattop']) {
    await plot.getByLabel('Window').selectOption(window);
    const {head, rows} = await amplitudes(page);
    assert.equal(head, 'frequency [Hz],amplitude of x [V]');
    assert.equal(rows.length, 501); // up to 50 Hz, in steps of 0.1 Hz
    assert.ok(Math.abs(rows[40][0] - 4) < 1e-12 && Math.abs(rows.at(-1)[0] - 50) < 1e-9);
    assert.ok(Math.abs(rows[0][1] - 7) < 1e-9, window + ' mean ' + rows[0][1]);
    assert.ok(Math.abs(at(rows, 4) - 3) < 1e-9, window + ' ' + at(rows, 4));
    assert.ok(Math.abs(at(rows, 12.5) - 0.5) < 1e-9, window + ' ' + at(rows, 12.5));
    for (const [f, a] of rows) if (f > 0 && Math.abs(f - 4) > 0.55 && Math.abs(f - 12.5) > 0.55) assert.ok(a < 1e-9, window + ' ' + f + ' ' + a);
  }
  assert.match(await plot.locator('.time-at').last().textContent(), /from 0 s to 10 s, 1000 samples/);
  await close(page);
});

test('between two frequencies: windows differ as they should, and all equal the sum that defines them', async () => {
  run('view', 'even.csv', '-o', 'between.html', '--only', 'between');
  const page = await open(process.cwd() + '/between.html');
  await makeSpectrum(page);
  const n = 1000, coefficients = {none: [1], hann: [0.5, 0.5], blackman: [0.42, 0.5, 0.08], flattop: [0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368]};
  const samples = even.slice(0, n).map(between), mean = samples.reduce((a, b) => a + b) / n, peaks = {};
  for (const [window, c] of Object.entries(coefficients)) {
    await page.locator('.plot').last().getByLabel('Window').selectOption(window);
    const {rows} = await amplitudes(page);
    for (const k of [1, 50, 80, 81, 82, 200, 499, 500]) { // against the definition
      let re = 0, im = 0, gain = 0;
      samples.forEach((v, i) => {
        const w = c.reduce((s, a, j) => s + (-1) ** j * a * Math.cos(2 * Math.PI * j * i / n), 0), angle = 2 * Math.PI * k * i / n;
        re += w * (v - mean) * Math.cos(angle); im -= w * (v - mean) * Math.sin(angle); gain += w;
      });
      const exact = (k === n / 2 ? 1 : 2) * Math.hypot(re, im) / gain;
      assert.ok(Math.abs(rows[k][1] - exact) < 1e-9, `${window} ${k}: ${rows[k][1]}, not ${exact}`);
    }
    peaks[window] = Math.max(...rows.map(r => r[1]));
  }
  assert.ok(Math.abs(peaks.flattop - 2) < 0.002, String(peaks.flattop)); // flat top: the amplitude, wherever the frequency is
  assert.ok(peaks.none < 1.65 && peaks.hann > 1.7 && peaks.hann < 1.85 && peaks.blackman > 1.75, JSON.stringify(peaks));
  await close(page);
});

test('uneven rows with events are resampled', async () => {
  const times = [];
  for (let i = 0; i <= 3000; i++) times.push((i + (i % 3000 ? 0.4 * Math.sin(7 * i) : 0)) / 1500);
  write('uneven.csv', [...times.slice(0, 700), times[699], ...times.slice(700)], {'y [m]': sine(1.5, 20)});
  run('view', 'uneven.csv', '-o', 'uneven.html', '--only', 'y');
  const page = await open(process.cwd() + '/uneven.html');
  await makeSpectrum(page);
  const {rows} = await amplitudes(page);
  const peak = rows.slice(1).reduce((a, b) => b[1] > a[1] ? b : a);
  assert.ok(Math.abs(peak[0] - 20) < 1e-9 && Math.abs(peak[1] - 1.5) < 0.005, peak.join());
  await close(page);
});

test('the time in view, derived curves, log axes and the cursor', async () => {
  // 4 Hz in the first half, 9 Hz in the second
  write('two.csv', even, {'z [m]': t => t < 5 ? sine(1, 4)(t) : sine(1, 9)(t)});
  run('view', 'two.csv', '-o', 'two.html', '--only', 'z');
  const page = await open(process.cwd() + '/two.html');
  const over = await page.locator('.surface').first().locator('.u-over').boundingBox();
  await page.mouse.move(over.x + over.width / 2, over.y + 60);
  await page.mouse.down();
  await page.mouse.move(over.x + over.width - 2, over.y + 62, {steps: 4});
  await page.mouse.up();
  await makeSpectrum(page);
  let {rows} = await amplitudes(page);
  const of = f => Math.max(...rows.filter(r => Math.abs(r[0] - f) < 0.5).map(r => r[1]));
  assert.ok(of(9) > 0.8 && of(4) < 0.05, of(9) + ' ' + of(4));
  const plot = page.locator('.plot').last();
  await plot.getByLabel('Time of the spectrum').selectOption({label: 'whole time'});
  ({rows} = await amplitudes(page));
  assert.ok(of(9) > 0.3 && of(4) > 0.3, of(9) + ' ' + of(4));
  // logarithmic in both ways: the frequency zero has no place
  await plot.getByRole('button', {name: 'log x'}).click();
  await plot.getByRole('button', {name: 'log y'}).click();
  assert.equal(await plot.locator('.surface').getAttribute('data-log'), 'true,true');
  assert.deepEqual(await range(page, 1), [0.1, 50]);
  // the derivative of a spectrum's curve: amplitude times 2 pi f
  await plot.getByLabel('Derive from z').selectOption({label: 'derivative'});
  assert.deepEqual(await plot.locator('.chip button:first-of-type').allTextContents(), ['z [m]', 'der(z) [m/s]']);
  await plot.locator('.surface').focus();
  await page.keyboard.press('ArrowRight');
  assert.match(await page.locator('#announce').textContent(), /^frequency = 2\.236\d* Hz/); // the middle of a logarithmic axis
  await close(page);
});

test('values that are missing have no spectrum, and that is said', async () => {
  write('gaps.csv', even, {'g [m]': t => t > 5 ? 'nan' : t});
  run('view', 'gaps.csv', '-o', 'gaps.html', '--only', 'g');
  const page = await open(process.cwd() + '/gaps.html');
  await makeSpectrum(page);
  assert.match(await page.locator('.plot').last().locator('.time-at').last().textContent(), /values are missing/);
  await close(page);
});
