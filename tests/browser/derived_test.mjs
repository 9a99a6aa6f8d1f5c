// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Derived curves: against functions whose derivatives, integrals and means are known.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';

import {close, download, open, run, start, stop} from './browser.mjs';

before(start);
after(stop);

const plot = (page, i = 0) => page.locator('.plot').nth(i);
const names = (page, i = 0) => plot(page, i).locator('.chip button:first-of-type').allTextContents();

async function derive(page, expression) {
  await page.locator('#expression').fill(expression);
  await page.locator('#expression').press('Enter');
}
const refused = async (page, expression) => { await derive(page, expression); return page.locator('#derive-error').textContent(); };

const cells = line => [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(m => m[1]?.replace(/""/g, '"') ?? m[2]);

// The numbers of a plot, as {name: [[time, value], ...]}.
async function numbers(page, i = 0) {
  const csv = await download(page, () => plot(page, i).getByLabel('Export').selectOption('csv'));
  const rows = csv.bytes.toString().trim().split('\n').map(cells);
  return Object.fromEntries(rows[0].slice(1).map((name, k) => [name, rows.slice(1).filter(r => r[k + 1] !== '').map(r => [Number(r[0]), Number(r[k + 1])])]));
}
function near(rows, f, tolerance, what) {
  assert.ok(rows.length > 50, what + ': ' + rows.length + ' rows');
  for (const [t, v] of rows) assert.ok(Math.abs(v - f(t)) <= tolerance, `${what} at ${t}: ${v}, not ${f(t)}`);
}

// x = t² in [m] with a jump by 5 at t = 1, where its slope changes its sign, at uneven times; s = sin(2 pi t)
const TIMES = [];
for (let i = 0; i <= 200; i++) TIMES.push(i === 0 || i % 100 === 0 ? i / 100 : (i + 0.3 * Math.sin(i)) / 100);
function wave(path, offset, times = TIMES) {
  const lines = ['time,plant.x [m],plant.v [m/s],s,T [degC],\'odd name\'(1)'];
  for (const t of times) {
    const row = after => [t, (after ? 6 - t * t : t * t) + offset, 2 * t, Math.sin(2 * Math.PI * t), 20 + t, 7].join();
    if (t === 1) lines.push(row(false));
    lines.push(row(t >= 1));
  }
  fs.writeFileSync(path, lines.join('\n') + '\n');
}
wave('a.csv', 0);
wave('b.csv', 0.25, TIMES.filter((t, i) => i % 3 === 0 || t === 1 || t === 2));
run('view', 'a.csv', '-o', 'a.html', '--only', 's');
run('view', 'a.csv', 'b.csv', '-o', 'both.html', '--only', 's');

test('a derivative does not run across an event, and has a unit', async () => {
  const page = await open(process.cwd() + '/a.html');
  await derive(page, 'der(plant.x)');
  assert.deepEqual(await names(page), ['s', 'der(plant.x) [m/s]']);
  const rows = (await numbers(page))['der(plant.x) [m/s]'];
  const at = rows.findIndex(([t]) => t === 1);
  assert.equal(rows[at + 1][0], 1); // both sides
  near(rows.slice(0, at + 1), t => 2 * t, 1e-9, 'before'); // parabolas are exact
  near(rows.slice(at + 1), t => -2 * t, 1e-9, 'after');
  await close(page);
});

test('an integral is the sum of trapezoids, and has a unit', async () => {
  const page = await open(process.cwd() + '/a.html');
  await derive(page, 'integral(plant.v)');
  await derive(page, 'integral(plant.x)');
  const all = await numbers(page);
  near(all['integral(plant.v) [m]'], t => t * t, 1e-12, 'of a straight line');
  let sum = 0;
  const x = t => t * t, y = t => 6 - t * t;
  TIMES.forEach((t, i) => { if (i > 0) { const f = t <= 1 ? x : y; sum += (f(t) + f(TIMES[i - 1])) / 2 * (t - TIMES[i - 1]); } });
  assert.ok(Math.abs(all['integral(plant.x) [m.s]'].at(-1)[1] - sum) < 1e-12);
  assert.ok(Math.abs(sum - (1 / 3 + 6 - 7 / 3)) < 1e-4); // and near the integral itself
  await close(page);
});

test('a moving average is the mean over its window', async () => {
  const page = await open(process.cwd() + '/a.html');
  await derive(page, 'mean(s, 1)'); // a whole period
  await derive(page, 'mean(plant.v, 0.5)');
  await derive(page, 'mean(plant.x, 0.2)');
  const all = await numbers(page), inside = rows => rows.filter(([t]) => t >= 0.5 && t <= 1.5);
  near(inside(all['mean(s, 1)']), () => 0, 1e-3, 'of a period');
  near(inside(all['mean(plant.v, 0.5) [m/s]']), t => 2 * t, 1e-9, 'of a straight line');
  assert.ok(Math.abs(all['mean(plant.v, 0.5) [m/s]'][0][1] - 0.25) < 1e-9); // at the beginning only the half behind it
  // across a jump: half of it before, half of it after
  const jump = all['mean(plant.x, 0.2) [m]'].filter(([t]) => t === 1), exact = ((1 - 0.9 ** 3) / 3 + 0.6 - (1.1 ** 3 - 1) / 3) / 0.2;
  assert.equal(jump.length, 2);
  for (const [, v] of jump) assert.ok(Math.abs(v - exact) < 1e-4, v + ' ' + exact);
  assert.match(await refused(page, 'mean(s, 0)'), /above 0/);
  await close(page);
});

test('arithmetic, functions, names in quotes, units', async () => {
  const page = await open(process.cwd() + '/a.html');
  for (const e of ['plant.x - 2*plant.x', 'plant.v*time', 'plant.x/time^2', "abs(-s) + max(s, 2) - 'time'", "'''odd name''(1)' + 1", 'sqrt(plant.x^2)',
    'T - T', 'der(T)', '-2^2 + s - s', '8/4/2 - (3 - 2 - 1) + 0*s', 'der(integral(plant.v))']) assert.equal(await refused(page, e), '', e);
  const all = await numbers(page);
  assert.deepEqual(Object.keys(all).slice(1), ['plant.x - 2*plant.x [m]', 'plant.v*time [m]', 'plant.x/time^2 [m/s2]', "abs(-s) + max(s, 2) - 'time'", "'''odd name''(1)' + 1",
    'sqrt(plant.x^2) [m]', 'T - T [K]', 'der(T) [K/s]', '-2^2 + s - s', '8/4/2 - (3 - 2 - 1) + 0*s', 'der(integral(plant.v)) [m/s]']);
  near(all['plant.v*time [m]'], t => 2 * t * t, 1e-12, 'product');
  near(all["abs(-s) + max(s, 2) - 'time'"], t => Math.abs(Math.sin(2 * Math.PI * t)) + 2 - t, 1e-12, 'functions');
  near(all["'''odd name''(1)' + 1"], () => 8, 0, 'quoted');
  near(all['-2^2 + s - s'], () => -4, 1e-12, 'precedence');
  near(all['8/4/2 - (3 - 2 - 1) + 0*s'], () => 1, 0, 'from left to right');
  near(all['T - T [K]'], () => 0, 0, 'difference');
  near(all['der(T) [K/s]'], () => 1, 1e-9, 'temperature');
  near(all['der(integral(plant.v)) [m/s]'], t => 2 * t, 1e-9, 'there and back');
  await close(page);
});

test('what cannot be computed is explained, and draws nothing', async () => {
  const page = await open(process.cwd() + '/both.html');
  const before = (await names(page)).length;
  for (const [expression, reason] of [['plant.y', /No variable is called plant\.y/], ['x', /\(is it plant\.x\?\)/], ['plant.x +', /is missing/], ['(s', /not closed/],
    ['plant.x - plant.v', /One side of − is in m, the other in m\/s/], ['s@c.csv', /there are a\.csv, b\.csv/], ['der(s, 2)', /has 1 argument/], ['s s', /Not understood/],
    ['2 + 3', /no variable/], ['toString(s)', /No variable is called toString/], ['('.repeat(500) + 's', /too deeply/], ['s+'.repeat(2000) + 's', /longer than/],
    ['-'.repeat(1500) + 's', /too deeply/]]) {
    assert.match(await refused(page, expression), reason, expression.slice(0, 30));
  }
  assert.equal((await names(page)).length, before);
  assert.equal(await refused(page, '<img src=x onerror=window.hacked=1>'), 'No variable is called <img.');
  assert.equal(await page.locator('img').count(), 0);
  await close(page);
});

test('variables of several results', async () => {
  const page = await open(process.cwd() + '/both.html');
  await derive(page, 'plant.x@b.csv - plant.x@a.csv'); // on the times of both, with both sides of the event
  await derive(page, 'der(plant.x)'); // one for each
  assert.deepEqual((await names(page)).slice(2), ['plant.x@b.csv - plant.x@a.csv [m]', 'der(plant.x) (a.csv) [m/s]', 'der(plant.x) (b.csv) [m/s]']);
  const all = await numbers(page), difference = all['plant.x@b.csv - plant.x@a.csv [m]'];
  assert.equal(difference.filter(([t]) => t === 1).length, 2);
  assert.equal(difference.length, TIMES.length + 1);
  near(difference, () => 0.25, 1e-3, 'difference'); // b has a third of the rows: chords of a parabola
  const sides = all['der(plant.x) (b.csv) [m/s]'].filter(([t]) => t === 1).map(([, v]) => v);
  assert.ok(Math.abs(sides[0] - 2) < 1e-9 && Math.abs(sides[1] + 2) < 1e-9, sides.join());
  await close(page);
});

test('an event of one result only has both of its sides in a difference', async () => {
  fs.writeFileSync('c.csv', 'time,plant.x [m]\n' + [0, 0.4, 0.8, 1.2, 1.6, 2].map(t => t + ',' + t).join('\n') + '\n'); // x = t, no row at 1
  for (const [first, second, sign] of [['c.csv', 'a.csv', 1], ['a.csv', 'c.csv', -1]]) {
    run('view', first, second, '-o', 'c.html', '--only', 'plant.x');
    const page = await open(process.cwd() + '/c.html');
    await derive(page, `plant.x@${first} - plant.x@${second}`);
    const rows = (await numbers(page))[`plant.x@${first} - plant.x@${second} [m]`], at = rows.findIndex(([t]) => t === 1);
    assert.equal(rows[at + 1][0], 1);
    near(rows.slice(0, at + 1), t => sign * (t - t * t), 1e-3, 'before');
    near(rows.slice(at + 1), t => sign * (t - 6 + t * t), 1e-3, 'after');
    await close(page);
  }
});

test('the menu of a curve derives, and expressions can be edited', async () => {
  const page = await open(process.cwd() + '/both.html');
  await page.locator('#search').fill('plant.v');
  await page.locator('.leaf input').check();
  const menu = name => plot(page).getByLabel('Derive from ' + name, {exact: true});
  await menu('plant.v (b.csv)').selectOption({label: 'derivative'});
  await menu('plant.v (a.csv)').selectOption({label: 'integral'});
  await menu('s (a.csv)').selectOption({label: 'moving average'});
  await menu('s (b.csv)').selectOption({label: 'minus s (a.csv)'});
  assert.deepEqual((await names(page)).slice(4), ['der(plant.v@b.csv) [m/s2]', 'integral(plant.v@a.csv) [m]', 'mean(s@a.csv, 0.1)', 's@b.csv - s@a.csv']);
  await menu('mean(s@a.csv, 0.1)').selectOption({label: 'edit the expression'});
  assert.equal(await page.locator('#expression').inputValue(), 'mean(s@a.csv, 0.1)');
  await derive(page, 'mean(s@a.csv, 0.5)');
  assert.equal((await names(page)).filter(n => n.startsWith('mean')).join(), 'mean(s@a.csv, 0.5)');
  // and a derived one derives again
  await menu('der(plant.v@b.csv)').selectOption({label: 'integral'});
  assert.equal((await names(page)).at(-1), 'integral(der(plant.v@b.csv)) [m/s]');
  await close(page);
});
