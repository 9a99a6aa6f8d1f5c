// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The page of a fit: points, curve, residuals and tables against the data and the output of the command.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';

import {close, open, run, start, stop} from './browser.mjs';

before(start);
after(stop);

fs.writeFileSync('decay.c', `
#include <couplet/model.h>
static const cpl_declaration states[] = {{"x", .start = 2, .unit = "m", .output = true}, {0}};
static const cpl_declaration parameters[] = {{"k", .start = 0.5, .unit = "1/s", .description = "</script><b>"}, {0}};
static int f(const cpl_values* v, double* dx) { dx[0] = -v->p[0]*v->x[0]; return CPL_MODEL_OK; }
const cpl_model_def couplet_model = {.name = "decay", .states = states, .parameters = parameters, .derivatives = f, .stop_time = 5};
`);
const points = [...Array(30).keys()].map(i => [0.1 * (i + 1), 3 * Math.exp(-0.08 * (i + 1)) + 0.05 * Math.sin(40 * i * i)]);
fs.writeFileSync('first <b>.csv', 'time,x\n' + points.map(p => p.join(',')).join('\n') + '\n');
fs.writeFileSync('second.csv', 'time,x\n0.5,2.1\n1,1.35\n2,0.62\n');
const result = JSON.parse(run('fit', 'decay.c', '--data', 'first <b>.csv', '--data', 'second.csv', '--vary', 'k=0.5:0.1:2', '--vary', 'x=2:0:5', '--json',
  '-o', 'fit.html'));

const show = options => open(process.cwd() + '/fit.html', options);

test('the tables have the numbers of the command', async () => {
  const page = await show();
  const text = await page.locator('#report').innerText();
  for (const [name, p] of Object.entries(result.parameters)) {
    const row = await page.locator('#report tr', {hasText: name}).first().innerText();
    const numbers = row.split(/\s+/).map(Number).filter(v => !Number.isNaN(v));
    assert.ok(Math.abs(numbers[0] - p.value) <= 1e-7 * Math.abs(p.value), row);
    assert.ok(Math.abs(numbers[1] - p.deviation) <= 1e-3 * p.deviation, row);
  }
  assert.match(text, /95 % from/);
  assert.match(text, /Correlation/);
  await close(page);
});

test('data, curve and residuals are drawn', async () => {
  const page = await show();
  assert.equal(await page.locator('.panel').count(), 2);
  const panel = page.locator('.panel').first();
  assert.equal(await panel.locator('circle').count(), 60);
  assert.match(await panel.locator('h2').innerText(), /x \[m\], first <b>\.csv/);
  // the highest point is the first one, and the curve passes close to it
  const circle = await panel.locator('circle').first().evaluate(c => [c.cx.baseVal.value, c.cy.baseVal.value]);
  const path = await panel.locator('path.fitted').evaluate(p => { const q = p.getPointAtLength(0); return [q.x, q.y]; });
  assert.ok(Math.abs(circle[0] - path[0]) < 0.1 && Math.abs(circle[1] - path[1]) < 25, `${circle} ${path}`);
  await close(page);
});

test('points are read by the pointer and by keys', async () => {
  const page = await show();
  const drawing = page.locator('.panel svg').first();
  await drawing.focus();
  await page.keyboard.press('ArrowRight');
  const first = await page.locator('.readout').first().innerText();
  assert.ok(first.startsWith(`time 0.1 s, measured ${+points[0][1].toPrecision(6)}, fitted `), first);
  const box = await drawing.boundingBox();
  await page.mouse.move(box.x + box.width - 16, box.y + 60);
  assert.match(await page.locator('.readout').first().innerText(), /^time 3 s/);
  await close(page);
});

test('it fits narrow windows and dark ones', async () => {
  const page = await show({viewport: {width: 380, height: 700}, colorScheme: 'dark'});
  assert.ok(await page.evaluate(() => document.documentElement.classList.contains('dark')));
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.locator('#theme').click();
  assert.equal(await page.locator('.panel circle').first().count(), 1);
  await close(page);
});
