// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';

import {close, open, start, stop} from './browser.mjs';
import {ask, begin as beginRun, endRuns} from './watched.mjs';

before(start);
after(async () => {
  endRuns();
  await stop();
});

// x' = -x, y' = 0.1: half a millisecond an evaluation, four of them a step of 0.01
fs.writeFileSync('slow.c', `#include <couplet/model.h>
#include <unistd.h>
static const cpl_declaration x[] = {{"x", .start = 1, .unit = "m", .description = "a <b>decay</b>"}, {"<img src=x onerror=window.hacked=1>"}, {0}};
static int f(const cpl_values* v, double* dx) {
  usleep(500);
  dx[0] = -v->x[0];
  dx[1] = 0.1;
  return 0;
}
const cpl_model_def couplet_model = {.name = "slow", .states = x, .derivatives = f,
  .dependencies = (const cpl_dependency[]){{"der(x)", "x", 0}, {0}}};
`);

const begin = (...args) => beginRun('slow.c', '--solver', 'rk4', '--step', '0.01', ...args);

test('curves grow, and the stop button ends the run cleanly', async () => {
  const run = await begin('--stop-time', '1000', '--interval', '0.01', '-o', 'stopped.csv');
  assert.match(run.url, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/);
  const page = await open(run.url);
  const until = async () => Number((await page.locator('.surface').first().getAttribute('data-x') ?? '0 0').split(' ')[1]);
  await page.waitForFunction(() => Number(document.querySelector('.surface')?.dataset.x?.split(' ')[1]) > 0.05);
  const first = await until();
  await page.waitForFunction(t => Number(document.querySelector('.surface').dataset.x.split(' ')[1]) > 2 * t, first);
  assert.match(await page.locator('#progress-text').textContent(), /^\d+ %, t = [\d.]+ s, [\d.]+ times real time, .* left, 0 events$/);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  // who does not know the token, or comes by another name, gets nothing
  const base = run.url.replace(/[0-9a-f]{32}\/$/, '');
  assert.equal(await ask(base), 404);
  assert.equal(await ask(base + '0'.repeat(32) + '/'), 404);
  assert.equal(await ask(run.url.slice(0, -2) + '/'), 404);
  assert.equal(await ask(run.url, {headers: {Host: 'evil.example'}}), 403);
  assert.equal(await ask(run.url + 'stop'), 404); // GET stops nothing
  assert.equal(await ask(run.url, {method: 'PUT'}), 405);
  await page.locator('#stop').click();
  await page.waitForURL('**/result');
  await page.locator('#show-report').click();
  assert.match(await page.locator('#report').textContent(), /interrupted at t=/);
  const {code, told} = await run.ended;
  assert.equal(code, 1);
  assert.match(told, /slow: interrupted at t=/);
  const rows = fs.readFileSync('stopped.csv', 'utf8').trim().split('\n').slice(1).map(l => l.split(',').map(Number));
  assert.ok(rows.length > 10);
  for (const [t, x] of rows) assert.ok(Math.abs(x - Math.exp(-t)) < 1e-8);
  assert.ok(fs.existsSync('stopped.html'));
  await close(page);
});

test('a run that ends hands over its result', async () => {
  const run = await begin('--stop-time', '3', '--interval', '0.01', '-o', 'whole.csv');
  const page = await open(run.url);
  await page.waitForURL('**/result');
  await page.waitForSelector('.surface[data-x="0 3"]');
  assert.equal((await run.ended).code, 0);
  await close(page);
});

test('without anybody watching it ends by itself', async () => {
  const run = await begin('--stop-time', '0.1', '-o', 'alone.csv', '--listen', '127.0.0.1:0');
  const began = Date.now();
  assert.equal((await run.ended).code, 0);
  assert.ok(Date.now() - began < 30000);
});
