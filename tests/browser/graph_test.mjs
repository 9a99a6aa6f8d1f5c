// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';

import {close, download, examples, open, run, start, stop} from './browser.mjs';

before(start);
after(stop);

const here = process.cwd() + '/';
const drawn = page => page.waitForSelector('#picture[data-nodes]');
const count = (page, what) => page.locator(what).count();

test('models, ports and connections are drawn, loops in red', async () => {
  run('graph', examples + 'loops/two_loops.yaml', '--html', '-o', 'loops.html');
  const page = await open(here + 'loops.html');
  await drawn(page);
  assert.deepEqual((await page.locator('.model .name').allTextContents()).sort(), ['p', 'q', 'r', 's', 'sum']);
  // q.u = p.y + cos(time): two lines to and from a function, p.u = q.y; r.u and s.u hand on
  assert.equal(await count(page, '.edge.loop'), 5);
  assert.equal(await page.locator('.edge.loop .line').first().evaluate(e => getComputedStyle(e).stroke), 'rgb(197, 58, 58)');
  assert.deepEqual((await page.locator('.function text').allTextContents()).sort(), ['1.8*sin(time)', 'p.y + cos(time)', 'p.y + s.y']);
  // no box lies upon another
  const boxes = await page.locator('.node>rect').evaluateAll(all => all.map(e => e.getBBox()).map(b => [b.x, b.y, b.x + b.width, b.y + b.height]));
  for (const a of boxes) for (const b of boxes) {
    assert.ok(a === b || a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1], JSON.stringify([a, b]));
  }
  assert.equal(page.requests.length, 1);
  await close(page);
});

test('what is chosen tells what it is and when it is computed', async () => {
  const page = await open(here + 'loops.html');
  await drawn(page);
  await page.locator('.model', {hasText: 'integrator'}).focus();
  await page.keyboard.press('Enter');
  const info = await page.locator('#info').textContent();
  assert.match(info, /sum/);
  assert.match(info, /1 state,/);
  assert.match(info, /evaluation step 6: set of 1 value/);
  await page.locator('.edge.loop .wide').first().dispatchEvent('click');
  assert.match(await page.locator('#info').textContent(), /part of loop \d: 4 values, 1 torn/);
  await page.locator('#search').fill('su');
  assert.equal(await count(page, '.found'), 1);
  await close(page);
});

const inner = `couplet: 1
name: inner
models:
  a: {c: ${examples}loops/gain.c}
  b: {c: ${examples}loops/integrator.c}
inputs: {drive: {start: 0}}
connections: {a.u: drive, b.u: a.y}
outputs: {out: b.x}
`;
const outer = `couplet: 1
name: "nested <img src=x onerror=window.hacked=1> systems"
models:
  first: {system: inner.yaml}
  second: {system: inner.yaml}
connections: {first.drive: "if second.out < 0 then 1 else second.out", second.drive: first.out}
experiment: {stop: 1}
`;

test('nested systems fold, names stay text', async () => {
  fs.writeFileSync('inner.yaml', inner);
  fs.writeFileSync('outer.yaml', outer);
  run('graph', 'outer.yaml', '--html', '-o', 'outer.html');
  const page = await open(here + 'outer.html');
  await drawn(page);
  assert.equal(await count(page, '.node'), 2 + 4 + 1);
  await page.locator('.system', {hasText: 'first'}).locator('.fold').click();
  await page.waitForSelector('#picture[data-nodes="5"]');
  await page.locator('#fold').click();
  await page.waitForSelector('#picture[data-nodes="3"]');
  assert.equal(await count(page, '.edge'), 3);
  assert.match(await page.locator('#title').textContent(), /<img src=x/);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  const svg = (await download(page, () => page.locator('#save').click())).bytes.toString();
  assert.ok(svg.startsWith('<svg ') && svg.includes('second.out &lt; 0') && !svg.includes('<img'));
  await close(page);
});

test('many lines between two boxes are one, until they are asked for', async () => {
  run('graph', examples + 'race_car/race_car.yaml', '--html', '-o', 'car.html');
  const page = await open(here + 'car.html', {colorScheme: 'dark'});
  await drawn(page);
  assert.equal(await count(page, '.edge.bundle'), 8);
  const said = (await page.locator('.edge.bundle title').allTextContents()).join('\n').split('\n').length;
  assert.equal(said, 172);
  const before = await page.locator('#picture').getAttribute('style');
  await page.locator('#main').press('+');
  assert.notEqual(await page.locator('#picture').getAttribute('style'), before);
  await page.locator('#lines').click();
  await page.waitForFunction(() => document.querySelectorAll('.edge').length > 170);
  await close(page);
});

test('the file is the same picture as the page', async () => {
  run('graph', 'outer.yaml', '--svg', '-o', 'outer.svg');
  const file = fs.readFileSync('outer.svg', 'utf8');
  const page = await open(here + 'outer.html');
  await drawn(page);
  const svg = (await download(page, () => page.locator('#save').click())).bytes.toString();
  assert.equal(file, svg);
  await close(page);
});
