// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The page of a study: what it shows is compared with closed forms and with the CSV file of the same study.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';

import {close, download, open, run, start, stop} from './browser.mjs';

before(start);
after(stop);

// x' = u - k x: x(t) = u/k + (x0 - u/k) exp(-k t). It fails where k is above 2.5 and x below 0.3.
fs.writeFileSync('decay.c', `
#include <couplet/model.h>
static const cpl_declaration states[] = {{"x", .start = 1, .unit = "m", .output = true}, {0}};
static const cpl_declaration parameters[] = {{"k", .start = 1, .unit = "1/s"}, {"u", .start = 0, .unit = "m/s"}, {0}};
static int f(const cpl_values* v, double* dx) {
  if (v->p[0] > 2.5 && v->x[0] < 0.3) return cpl_model_error(v, "<b>x</b> is too small");
  dx[0] = v->p[1] - v->p[0]*v->x[0];
  return CPL_MODEL_OK;
}
const cpl_model_def couplet_model = {.name = "decay", .states = states, .parameters = parameters, .derivatives = f};
`);
const MEASURES = ['-m', 'end=final(x)', '-m', 'area=integral(x)'];
run('sweep', '-q', 'decay.c', '--stop', '2', '--interval', '0.02', '--rtol', '1e-10', '--over', 'k=0.2:3', '--over', 'u=-0.5:0.5', '--sample', '300', '--lhs',
  ...MEASURES, '--curve', 'x', '-o', 'decay.nc', '-o', 'decay.csv');
run('view', 'decay.nc', '-o', 'decay.html');
const cases = fs.readFileSync('decay.csv', 'utf8').trim().split('\n').slice(1).map((line, i) => {
  const [k, u, end, area, failure] = line.split(',');
  return {i, k: +k, u: +u, end: end === '' ? NaN : +end, area: area === '' ? NaN : +area, failure};
});
const exact = (c, t) => c.u / c.k + (1 - c.u / c.k) * Math.exp(-c.k * t);
const fine = cases.filter(c => c.failure === '');
assert.ok(fine.length > 200 && fine.length < 300);

// Definitions written here once more: type 7 of Hyndman and Fan.
function quantile(values, p) {
  const s = [...values].sort((a, b) => a - b), at = p * (s.length - 1), low = Math.floor(at);
  return low + 1 < s.length ? s[low] * (1 - (at - low)) + s[low + 1] * (at - low) : s[low];
}
const mean = list => list.reduce((s, v) => s + v, 0) / list.length;
const deviation = list => Math.sqrt(list.reduce((s, v) => s + (v - mean(list)) ** 2, 0) / (list.length - 1));
const near = (got, wanted, tolerance, what) => assert.ok(Math.abs(got - wanted) <= tolerance, what + ': ' + got + ', not ' + wanted);
const closeTo = (got, wanted, what) => near(got, wanted, 6e-6 * Math.abs(wanted) + 1e-9, what); // six digits are shown

const idle = page => page.waitForFunction(() => document.documentElement.dataset.busy === 'false');
async function show(file = 'decay.html', options = {}, hash = '') {
  const page = await open(process.cwd() + '/' + file, options);
  if (hash) { await page.goto('about:blank'); await page.goto('file://' + process.cwd() + '/' + file + hash); }
  await idle(page);
  return page;
}
const selected = page => page.evaluate(() => Number(document.documentElement.dataset.selected));
const pinned = page => page.evaluate(() => document.documentElement.dataset.pinned);
const head = (page, name) => page.locator(`.head[data-name="${name}"]`);
const chart = (page, n) => page.locator('#panels .surface').nth(n);

// The place on the screen of a point of a chart.
async function placeOf(surface, x, y) {
  await surface.scrollIntoViewIfNeeded();
  await surface.page().waitForTimeout(50);
  await idle(surface.page());
  const at = await surface.boundingBox(), data = await surface.evaluate(e => ({...e.dataset}));
  const [left, top, width, height] = data.box.split(' ').map(Number), [x0, x1] = data.x.split(' ').map(Number), [y0, y1] = data.y.split(' ').map(Number);
  return [at.x + left + (x - x0) / (x1 - x0) * width, at.y + top + (1 - (y - y0) / (y1 - y0)) * height];
}
// A drag along an axis, by parts of its height from below.
async function brush(page, name, from, to) {
  const axis = await head(page, name).boundingBox(), surface = page.locator('.parallel .surface'), at = await surface.boundingBox();
  const [, top, , height] = (await surface.getAttribute('data-box')).split(' ').map(Number), x = axis.x + axis.width / 2;
  await page.mouse.move(x, at.y + top + (1 - from) * height);
  await page.mouse.down();
  await page.mouse.move(x, at.y + top + (1 - to) * height, {steps: 5});
  await page.mouse.up();
  await idle(page);
}
// The brush of an axis, as it is read aloud.
async function brushOf(page, name) {
  const found = (await head(page, name).getAttribute('aria-label')).match(/from (\S+).* to (\S+)/);
  return found ? [Number(found[1]), Number(found[2])] : null;
}
const within = (v, [a, b]) => v >= a - 6e-6 && v <= b + 6e-6; // six digits were read

test('opens without errors, loads nothing else, shows all parts', async () => {
  const page = await show();
  assert.equal(await page.title(), 'decay.nc');
  assert.equal(page.requests.length, 1);
  assert.equal(await page.locator('#count').textContent(), '300 cases');
  assert.equal(await page.locator('#failed').textContent(), 300 - fine.length + ' failed');
  assert.deepEqual(await page.locator('.head span').allTextContents(), ['k', 'u', 'end', 'area']);
  assert.deepEqual(await page.locator('.head small').allTextContents(), ['1/s', 'm/s', 'm', 'm.s']);
  assert.deepEqual(await page.locator('main h2:visible').allTextContents(),
    ['Parallel coordinates', 'Curves of x', 'Quantiles of x', 'Scatter', 'Regression and rank correlation', 'Statistics', 'Failed cases']);
  assert.equal(await page.evaluate(() => document.scrollingElement.scrollWidth <= innerWidth), true);
  await close(page);
});

test('statistics of all and of selected cases', async () => {
  const page = await show();
  const numbers = async row => (await page.locator('.statistics tr').nth(row).locator('td.number').allTextContents()).map(Number);
  const check = (got, list) => {
    const wanted = [list.length, mean(list), deviation(list), Math.min(...list), ...[0.05, 0.25, 0.5, 0.75, 0.95].map(p => quantile(list, p)), Math.max(...list)];
    assert.equal(got.length, wanted.length);
    got.forEach((v, n) => closeTo(v, wanted[n], 'number ' + n));
  };
  check(await numbers(1), fine.map(c => c.end));
  check(await numbers(2), fine.map(c => c.area));
  const counts = (await page.locator('.statistics svg').first().getAttribute('data-counts')).split(' ').map(Number);
  assert.equal(counts.reduce((s, n) => s + n), fine.length);
  const list = fine.map(c => c.end), width = (Math.max(...list) - Math.min(...list)) / counts.length;
  counts.forEach((n, b) => near(n, list.filter(v => Math.min(counts.length - 1, Math.floor((v - Math.min(...list)) / width)) === b).length, 0, 'bin ' + b));

  await brush(page, 'u', 0.5, 0.9);
  const range = await brushOf(page, 'u'), chosen = fine.filter(c => within(c.u, range));
  check(await numbers(1), fine.map(c => c.end));
  check(await numbers(2), chosen.map(c => c.end));
  check(await numbers(4), chosen.map(c => c.area));
  const part = (await page.locator('.statistics svg').first().getAttribute('data-counts')).split(' ').map(Number);
  assert.equal(part.reduce((s, n) => s + n), chosen.length);
  await close(page);
});

test('a brush selects cases in all views, can be moved, and two are both in force', async () => {
  const page = await show('decay.html', {viewport: {width: 1100, height: 2000}}); // what is out of sight is not drawn
  await brush(page, 'u', 0.25, 0.75);
  const range = await brushOf(page, 'u');
  near(range[0], -0.25, 0.02, 'lower end');
  near(range[1], 0.25, 0.02, 'upper end');
  const chosen = cases.filter(c => within(c.u, range));
  assert.equal(await selected(page), chosen.length);
  assert.equal(await page.locator('#count').textContent(), chosen.length + ' of 300 cases selected');
  for (const surface of [page.locator('.parallel .surface'), chart(page, 0), chart(page, 2)]) assert.equal(await surface.getAttribute('data-cases'), String(chosen.length));
  assert.equal(await chart(page, 1).getAttribute('data-cases'), String(chosen.filter(c => c.failure === '').length)); // quantiles
  // the whole brush upwards
  await brush(page, 'u', 0.5, 0.6);
  const moved = await brushOf(page, 'u');
  near(moved[1] - moved[0], range[1] - range[0], 1e-3, 'width');
  near(moved[0] - range[0], 0.1, 0.01, 'move');
  // its upper end
  const part = v => (v - Math.min(...cases.map(c => c.u))) / (Math.max(...cases.map(c => c.u)) - Math.min(...cases.map(c => c.u)));
  await brush(page, 'u', part(moved[1]), 0.95);
  const grown = await brushOf(page, 'u');
  near(grown[0], moved[0], 1e-9, 'the other end stays');
  assert.ok(grown[1] > moved[1] + 0.05);
  await brush(page, 'end', 0.5, 1);
  const both = [grown, await brushOf(page, 'end')], now = cases.filter(c => within(c.u, both[0]) && within(c.end, both[1]));
  assert.equal(await selected(page), now.length);
  assert.ok(now.length > 3 && now.length < chosen.length);
  assert.equal(await page.locator('#brushes li').count(), 2);
  // a click on an axis removes its brush, the button all
  const axis = await head(page, 'end').boundingBox(), at = await page.locator('.parallel .surface').boundingBox();
  await page.mouse.click(axis.x + axis.width / 2, at.y + 320);
  assert.equal(await selected(page), cases.filter(c => within(c.u, grown)).length);
  await page.locator('#clear').click();
  assert.equal(await selected(page), 300);
  await close(page);
});

test('what a brush removes is drawn again exactly', async () => {
  const page = await show();
  const picture = () => page.evaluate(() => [...document.querySelectorAll('.surface')].map(s => s.querySelectorAll('canvas')[2].toDataURL()).join());
  const first = await picture();
  for (const [name, a, b] of [['k', 0.2, 0.5], ['u', 0.1, 0.6], ['k', 0.3, 0.9], ['end', 0, 0.4]]) await brush(page, name, a, b);
  assert.notEqual(await picture(), first);
  await page.locator('#clear').click();
  await idle(page);
  assert.equal(await picture(), first);
  await close(page);
});

test('a click on a point shows its case, curve and numbers', async () => {
  const page = await show();
  const scatter = chart(page, 2);
  await page.getByLabel('x', {exact: true}).selectOption({label: 'u [m/s] (factor)'});
  await page.getByLabel('y', {exact: true}).selectOption({label: 'end [m]'});
  await idle(page);
  // the case that is farthest from its neighbours
  const gap = c => Math.min(...fine.filter(d => d !== c).map(d => Math.hypot(d.u - c.u, (d.end - c.end) / 1.5)));
  const lonely = fine.reduce((best, c) => gap(c) > gap(best) ? c : best);
  await page.mouse.click(...await placeOf(scatter, lonely.u, lonely.end));
  assert.equal(await pinned(page), String(lonely.i));
  assert.match(await scatter.locator('xpath=..').locator('.time-at').textContent(), new RegExp('^case ' + lonely.i + ': '));
  const cells = (await page.locator('#cases td.number').allTextContents()).map(Number);
  [lonely.k, lonely.u, lonely.end, lonely.area].forEach((v, n) => closeTo(cells[n], v, 'number ' + n));
  // its curve is drawn: pixels of its colour where the closed form says
  const curves = chart(page, 0);
  await idle(page);
  for (const t of [0.4, 1, 1.7]) {
    const [x, y] = await placeOf(curves, t, exact(lonely, t)), at = await curves.boundingBox();
    const hit = await curves.evaluate((e, [px, py]) => {
      const canvas = e.querySelectorAll('canvas')[3], ratio = canvas.width / e.clientWidth, copy = new OffscreenCanvas(canvas.width, canvas.height), ctx = copy.getContext('2d');
      ctx.drawImage(canvas, 0, 0);
      const colour = getComputedStyle(document.documentElement).getPropertyValue('--c1').trim();
      const [r, g, b] = [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16)), d = ctx.getImageData(Math.round(px * ratio), Math.round((py - 2) * ratio), 1, Math.round(4 * ratio)).data;
      let best = 999;
      for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) best = Math.min(best, Math.abs(d[i] - r) + Math.abs(d[i + 1] - g) + Math.abs(d[i + 2] - b));
      return best;
    }, [x - at.x, y - at.y]);
    assert.ok(hit < 30, 'at ' + t + ': ' + hit);
    await page.mouse.move(x, y);
    const text = await curves.locator('xpath=..').locator('.time-at').textContent(), [, i, shown, when] = text.match(/^case (\d+): x = (\S+) m at (\S+) s/);
    near(Number(shown), exact(cases[i], Number(when)), 2e-4, text); // points 0.02 s apart, joined by straight lines
  }
  // with Shift another one; the same once more and it is gone
  await page.keyboard.down('Shift');
  await page.mouse.click(...await placeOf(scatter, fine[0].u, fine[0].end));
  const two = (await pinned(page)).split(' ');
  assert.equal(two.length, 2);
  assert.equal(two[0], String(lonely.i));
  await page.mouse.click(...await placeOf(scatter, lonely.u, lonely.end));
  await page.keyboard.up('Shift');
  assert.equal(await pinned(page), two[1]);
  await close(page);
});

test('a box in the scatter plot is a brush of both columns', async () => {
  const page = await show();
  await page.getByLabel('x', {exact: true}).selectOption({label: 'k [1/s] (factor)'});
  await page.getByLabel('y', {exact: true}).selectOption({label: 'u [m/s] (factor)'});
  await idle(page);
  const scatter = chart(page, 2);
  await page.mouse.move(...await placeOf(scatter, 1, -0.2));
  await page.mouse.down();
  await page.mouse.move(...await placeOf(scatter, 2, 0.3), {steps: 4});
  await page.mouse.up();
  await idle(page);
  const ranges = [await brushOf(page, 'k'), await brushOf(page, 'u')];
  [[1, 2], [-0.2, 0.3]].forEach((wanted, n) => wanted.forEach((v, end) => near(ranges[n][end], v, 0.01, 'end')));
  assert.equal(await selected(page), cases.filter(c => within(c.k, ranges[0]) && within(c.u, ranges[1])).length);
  await close(page);
});

test('quantiles over time are those of the closed form', async () => {
  const page = await show();
  const fan = chart(page, 1), note = fan.locator('xpath=..').locator('.time-at');
  const check = async list => {
    const [x, y] = await placeOf(fan, 1.2, 0.5);
    await page.mouse.move(x, y);
    const text = await note.textContent(), [, t, ...shown] = text.match(/time = (\S+) s: least (\S+), 5 % (\S+), 25 % (\S+), median (\S+), 75 % (\S+), 95 % (\S+), greatest (\S+) m \((\d+) cases\)/);
    near(Number(t), 1.2, 0.021, 'time');
    const values = list.map(c => exact(c, Number(t)));
    assert.equal(Number(shown[7]), values.length);
    [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1].forEach((p, n) => near(Number(shown[n]), quantile(values, p), 2e-6 + 1e-5 * Math.abs(quantile(values, p)), 'quantile ' + p));
  };
  await check(fine);
  await page.evaluate(() => document.getElementById('main').scrollTo(0, 0));
  await brush(page, 'k', 0.3, 0.6);
  const range = await brushOf(page, 'k');
  await check(fine.filter(c => within(c.k, range)));
  await close(page);
});

test('failed cases have their reasons, and names are no markup', async () => {
  const page = await show();
  const rows = page.locator('#failures tr'), failed = cases.filter(c => c.failure !== '');
  assert.equal(await rows.count(), failed.length + 1);
  assert.match(await rows.nth(1).textContent(), /<b>x<\/b> is too small/);
  assert.equal(await page.locator('#failures b').count(), 0);
  await rows.nth(1).getByRole('button').click();
  assert.equal(await pinned(page), String(failed[0].i));
  assert.match(await page.locator('#cases .reason').textContent(), /^Case \d+ failed: .*<b>x<\/b> is too small/);
  await page.locator('#number').fill('300');
  await page.locator('#go button').click();
  assert.match(await page.locator('#notice').textContent(), /0 to 299/);
  await close(page);
});

// y = 3 a - 2 b, c has no effect: effects over the whole ranges are 3, -2, 0; shares of the variance 9/13, 4/13, 0.
fs.writeFileSync('plane.c', `
#include <couplet/model.h>
static const cpl_declaration states[] = {{"x", .start = 0}, {0}};
static const cpl_declaration parameters[] = {{"a", .start = 1}, {"b", .start = 1}, {"c", .start = 1}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};
static int f(const cpl_values* v, double* dx) { dx[0] = 0; return CPL_MODEL_OK; }
static int g(const cpl_values* v, double* y) { y[0] = 3*v->p[0] - 2*v->p[1]; return CPL_MODEL_OK; }
const cpl_model_def couplet_model = {.name = "plane", .states = states, .parameters = parameters, .outputs = outputs, .derivatives = f, .output_values = g};
`);
const OVER = ['--over', 'a=0:1', '--over', 'b=0:1', '--over', 'c=0:1', '-m', 'y=final(y)', '--stop', '0.1'];

test('the influence of the factors: Morris, Sobol’ and regression', async () => {
  const table = async name => {
    run('view', name + '.nc', '-o', name + '.html');
    const page = await show(name + '.html'), details = page.locator('.influence details');
    await details.locator('summary').click();
    const rows = await details.locator('tr').all(), out = {};
    for (const row of rows.slice(1)) out[await row.locator('th').textContent()] = (await row.locator('td').allTextContents()).map(Number);
    const title = await page.locator('h2', {hasText: /effects|indices|Regression/}).textContent(), bars = await page.locator('.influence svg .name').evaluateAll(list => list.map(e => e.firstChild.data));
    await close(page);
    return {title, out, bars};
  };
  run('sweep', '-q', 'plane.c', ...OVER, '--morris', '8', '-o', 'morris.nc', '-o', 'morris.csv');
  const morris = await table('morris');
  assert.equal(morris.title, 'Elementary effects (Morris)');
  [['a', 3], ['b', -2], ['c', 0]].forEach(([f, mu]) => [Math.abs(mu), mu, 0].forEach((v, n) => near(morris.out[f][n], v, 1e-9, f)));
  assert.deepEqual(morris.bars, ['a', 'b', 'c']);
  run('sweep', '-q', 'plane.c', ...OVER, '--saltelli', '1024', '-o', 'sobol.nc');
  const sobol = await table('sobol');
  assert.equal(sobol.title, 'Sobol’ indices');
  [['a', 9 / 13], ['b', 4 / 13], ['c', 0]].forEach(([f, share]) => { // first, from, to, total, from, to
    near(sobol.out[f][0], share, 0.02, f);
    near(sobol.out[f][3], share, 0.02, f);
    for (const n of [0, 3]) assert.ok(sobol.out[f][n + 1] <= sobol.out[f][n] && sobol.out[f][n] <= sobol.out[f][n + 2]);
  });
  run('sweep', '-q', 'plane.c', ...OVER, '--sample', '1024', '--sobol', '-o', 'regression.nc');
  const regression = await table('regression');
  assert.equal(regression.title, 'Regression and rank correlation');
  [['a', 3 / Math.sqrt(13)], ['b', -2 / Math.sqrt(13)], ['c', 0]].forEach(([f, r]) => near(regression.out[f][0], r, 0.01, f));
});

test('colours, axes and scales follow the choices', async () => {
  const page = await show();
  await page.locator('#colour').selectOption({label: 'end [m]'});
  await idle(page);
  closeTo(parseFloat(await page.locator('#scale-low').textContent()), Math.min(...fine.map(c => c.end)), 'least');
  closeTo(parseFloat(await page.locator('#scale-high').textContent()), Math.max(...fine.map(c => c.end)), 'greatest');
  await page.locator('#axes .leaf', {hasText: 'area'}).locator('input').uncheck();
  assert.deepEqual(await page.locator('.head span').allTextContents(), ['k', 'u', 'end']);
  await page.getByRole('button', {name: 'Logarithmic scale of k'}).click();
  assert.equal(await head(page, 'k').locator('small').textContent(), '1/s, log');
  await brush(page, 'k', 0.5, 1); // the upper half of a logarithmic axis begins at the geometric mean
  const k = cases.map(c => c.k), middle = Math.sqrt(Math.min(...k) * Math.max(...k));
  near((await brushOf(page, 'k'))[0], middle, 0.02, 'middle');
  await page.locator('#search').fill('ARE');
  assert.equal(await page.locator('#axes .leaf').count(), 1);
  await close(page);
});

test('keys do what the mouse does', async () => {
  const page = await show();
  await head(page, 'u').focus();
  await page.keyboard.press('ArrowUp'); // the first press makes a brush of the middle third
  const u = cases.map(c => c.u), low = Math.min(...u), size = Math.max(...u) - low, third = await brushOf(page, 'u');
  near(third[0], low + size / 3, 1e-5, 'from');
  near(third[1], low + 2 * size / 3, 1e-5, 'to');
  assert.match(await page.locator('#announce').textContent(), /u \[m\/s\]: brush from .* cases selected/);
  await page.keyboard.press('ArrowUp');
  near((await brushOf(page, 'u'))[0], low + size * (1 / 3 + 1 / 50), 1e-5, 'moved');
  await page.keyboard.press('Shift+ArrowUp');
  near((await brushOf(page, 'u'))[1], low + size * (2 / 3 + 2 / 50), 1e-5, 'upper end');
  await page.keyboard.press('Alt+ArrowDown');
  near((await brushOf(page, 'u'))[0], low + size / 3, 1e-5, 'lower end');
  assert.equal(await selected(page), cases.filter(c => within(c.u, [low + size / 3, low + size * (2 / 3 + 2 / 50)])).length);
  await page.keyboard.press('ArrowLeft');
  assert.deepEqual(await page.locator('.head span').allTextContents(), ['u', 'k', 'end', 'area']);
  await page.keyboard.press('Delete');
  assert.equal(await selected(page), 300);
  // points in the order of x
  await page.getByLabel('x', {exact: true}).selectOption({label: 'u [m/s] (factor)'});
  await page.getByLabel('y', {exact: true}).selectOption({label: 'end [m]'});
  await idle(page);
  await chart(page, 2).focus();
  const order = [...fine].sort((a, b) => a.u - b.u);
  for (let n = 0; n < 3; n++) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  assert.equal(await pinned(page), String(order[2].i));
  await page.keyboard.press('ArrowLeft');
  assert.match(await page.locator('#announce').textContent(), new RegExp('^case ' + order[1].i + ':'));
  await page.keyboard.press('Escape');
  assert.equal(await pinned(page), '');
  // zoom of curves
  await chart(page, 0).focus();
  const isWhole = whole => page.waitForFunction(w => (document.querySelector('#panels .surface').dataset.x === '0 2') === w, whole); // drawn when it is in view
  await page.keyboard.press('+');
  await isWhole(false);
  const range = (await chart(page, 0).getAttribute('data-x')).split(' ').map(Number);
  near(range[1] - range[0], 1.4, 1e-9, 'zoomed');
  await page.keyboard.press('Home');
  await isWhole(true);
  await close(page);
});

test('a link restores the view, and a bad one does no harm', async () => {
  const page = await show();
  await brush(page, 'u', 0.2, 0.7);
  await page.locator('#colour').selectOption({label: 'area [m.s]'});
  await page.locator('#number').fill('17');
  await page.locator('#go button').click();
  await page.getByLabel('Drawn as').first().selectOption('both');
  await page.getByRole('button', {name: 'Logarithmic scale of k'}).click();
  await page.locator('#add-scatter').click();
  const range = await brushOf(page, 'u'), count = await selected(page);
  await page.locator('#copy-link').click();
  const hash = new URL(page.url()).hash;
  await close(page);
  const again = await show('decay.html', {}, hash);
  assert.deepEqual(await brushOf(again, 'u'), range);
  assert.equal(await selected(again), count);
  assert.equal(await pinned(again), '17');
  assert.equal(await again.locator('#colour option:checked').textContent(), 'area [m.s]');
  assert.equal(await again.getByLabel('Drawn as').first().inputValue(), 'both');
  assert.equal(await again.locator('#panels .surface').count(), 4);
  assert.equal(await head(again, 'k').locator('small').textContent(), '1/s, log');
  await close(again);
  const encode = v => '#view=' + Buffer.from(JSON.stringify(v)).toString('base64url');
  // a study without u and curves
  const other = await show('morris.html', {}, encode({study: true, axes: ['a', 'u', 'y'], panels: [{kind: 'curves', curve: 'x'}], brushes: [['b', 0.5, 2]]}));
  assert.equal(await other.locator('#notice').textContent(), 'Not in this study: u, x');
  const b = fs.readFileSync('morris.csv', 'utf8').trim().split('\n').slice(1).map(l => Number(l.split(',')[1]));
  assert.equal(await selected(other), b.filter(v => v >= 0.5).length);
  await close(other);
  const nothing = await show('morris.html', {}, hash);
  assert.match(await nothing.locator('#notice').textContent(), /^Nothing that the link shows/);
  await close(nothing);
  for (const bad of ['#view=', '#view=%%%', '#view=AAAA', encode({version: 1}), encode(null), encode({study: true, axes: ['u', 3], brushes: [3, ['u', 'a', 1], ['k', 2, 1]], pinned: [-1, 'x', 1e9],
    panels: [null, {kind: 'curves', curve: 'x', mode: 'constructor', x: [2, 1]}, {kind: 'scatter', x: 'k'}], colour: {}})]) {
    const page = await show('decay.html', {}, bad);
    assert.equal(await selected(page), 300);
    assert.ok(await page.locator('.head').count() > 0);
    await close(page);
  }
});

test('exports the selected cases with every digit', async () => {
  const page = await show();
  await brush(page, 'k', 0.6, 1);
  const range = await brushOf(page, 'k'), chosen = cases.filter(c => within(c.k, range));
  const csv = await download(page, () => page.locator('#csv').click());
  const lines = csv.bytes.toString().trim().split('\n');
  assert.equal(csv.name, 'decay.csv');
  assert.equal(lines[0], 'case,k [1/s],u [m/s],end [m],area [m.s],failure');
  assert.deepEqual(lines.slice(1).map(l => l.split(',').slice(0, 5).map(Number)), chosen.map(c => [c.i, c.k, c.u, c.end, c.area]));
  const png = await download(page, () => page.getByRole('button', {name: 'PNG'}).first().click());
  assert.equal(png.bytes.subarray(0, 4).toString('latin1'), '\x89PNG');
  await close(page);
});

test('fits a phone, and follows light and dark', async () => {
  const page = await show('decay.html', {viewport: {width: 390, height: 800}, hasTouch: true, isMobile: true, colorScheme: 'dark'});
  assert.equal(await page.evaluate(() => document.scrollingElement.scrollWidth <= innerWidth), true);
  for (const button of await page.locator('nav button:visible').all()) {
    const at = await button.boundingBox();
    assert.ok(at.x >= 0 && at.x + at.width <= 390);
  }
  assert.ok((await page.locator('.parallel .surface').boundingBox()).width > 300);
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await background();
  await page.locator('#theme').click();
  assert.notEqual(await background(), dark);
  await page.locator('#menu').click();
  assert.ok(await page.locator('#colour').isVisible());
  await close(page);
});

test('a finger on an axis brushes, beside it scrolls', async () => {
  const page = await show('decay.html', {viewport: {width: 390, height: 800}, hasTouch: true, isMobile: true}), session = await page.context().newCDPSession(page);
  const drag = async (x, from, to) => {
    const touch = (type, y) => session.send('Input.dispatchTouchEvent', {type, touchPoints: type === 'touchEnd' ? [] : [{x, y}]});
    await touch('touchStart', from);
    for (let n = 1; n <= 8; n++) { await touch('touchMove', from + (to - from) * n / 8); await page.waitForTimeout(20); }
    await touch('touchEnd');
    await idle(page);
  };
  const axis = await head(page, 'u').boundingBox(), next = await head(page, 'end').boundingBox(), at = await page.locator('.parallel .surface').boundingBox();
  const middle = h => h.x + h.width / 2, scrolled = () => page.evaluate(() => document.getElementById('main').scrollTop);
  await drag(middle(axis), at.y + 120, at.y + 240);
  const range = await brushOf(page, 'u');
  assert.equal(await selected(page), cases.filter(c => within(c.u, range)).length);
  assert.equal(await scrolled(), 0);
  await drag((middle(axis) + middle(next)) / 2, at.y + 280, at.y + 100);
  assert.deepEqual(await brushOf(page, 'u'), range);
  assert.ok(await scrolled() > 50);
  await close(page);
});

test('names to show first come from the command', async () => {
  run('view', 'decay.nc', '-o', 'some.html', '--only', 'e*', '--only', 'k', '--xy', 'u,area');
  const page = await show('some.html');
  assert.deepEqual(await page.locator('.head span').allTextContents(), ['k', 'end']);
  assert.equal(await page.getByLabel('x', {exact: true}).locator('option:checked').textContent(), 'u [m/s] (factor)');
  assert.equal(await page.getByLabel('y', {exact: true}).locator('option:checked').textContent(), 'area [m.s]');
  await close(page);
});

test('ten thousand cases stay fluid', async () => {
  run('sweep', '-q', 'decay.c', '--stop', '2', '--interval', '0.01', '--over', 'k=0.2:2', '--over', 'u=-0.5:0.5', '--sample', '10000', '--sobol', ...MEASURES, '--curve', 'x',
    '-o', 'many.nc');
  run('view', 'many.nc', '-o', 'many.html');
  assert.ok(fs.statSync('many.html').size < 13e6); // 10,000 cases of 201 points and 4 numbers
  const page = await show('many.html', {viewport: {width: 1280, height: 1400}});
  const axis = await head(page, 'u').boundingBox(), at = await page.locator('.parallel .surface').boundingBox(), x = axis.x + axis.width / 2;
  // The median time between frames while the mouse moves.
  const frames = async y => {
    await page.evaluate(() => {
      window.gaps = [];
      let last = performance.now();
      const frame = () => { if (!window.gaps) return; const now = performance.now(); gaps.push(now - last); last = now; requestAnimationFrame(frame); };
      requestAnimationFrame(frame);
    });
    for (let n = 0; n < 60; n++) { await page.mouse.move(x, y(n)); await page.waitForTimeout(10); }
    const gaps = await page.evaluate(() => { const all = window.gaps; window.gaps = null; return all; });
    assert.ok(gaps.length > 10);
    return gaps.sort((a, b) => a - b)[gaps.length >> 1];
  };
  const calm = await frames(n => 10 + n % 2); // above the charts
  await page.mouse.move(x, at.y + 60);
  await page.mouse.down();
  const brushed = await frames(n => at.y + 70 + 3 * n);
  await page.mouse.up();
  assert.ok(brushed < 3 * calm + 30, 'frames take ' + brushed.toFixed(1) + ' ms, without a brush ' + calm.toFixed(1) + ' ms'); // both about 17 ms where nothing else runs
  await idle(page);
  const range = await brushOf(page, 'u'), count = await selected(page);
  near(count / 10000, range[1] - range[0], 0.002, 'selected'); // u is uniformly distributed over an interval of 1
  // a move of the brush draws only the cases that it adds and removes
  await head(page, 'u').focus();
  await page.keyboard.press('Shift+ArrowDown');
  await idle(page);
  const removed = count - await selected(page);
  near(removed, 200, 20, 'removed');
  for (const surface of [page.locator('.parallel .surface'), chart(page, 0), chart(page, 2)]) assert.equal(await surface.getAttribute('data-changed'), String(removed));
  await close(page);
});
