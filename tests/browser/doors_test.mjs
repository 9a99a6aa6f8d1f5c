// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet run --live and those who mean no good, or only sleep.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import {after, before, test} from 'node:test';

import {open, start, stop} from './browser.mjs';
import {ask, begin as beginRun, endRuns} from './watched.mjs';

before(start);
after(async () => {
  endRuns();
  await stop();
});

fs.writeFileSync('wide.c', `#include <couplet/model.h>
#include <unistd.h>
static const cpl_declaration x[] = {{"x", .start = 1, .size = 60}, {0}};
static int f(const cpl_values* v, double* dx) {
  usleep(100);
  for (int i = 0; i < 60; i++) dx[i] = -v->x[i];
  return 0;
}
const cpl_model_def couplet_model = {.name = "wide", .states = x, .derivatives = f};
`);

const begin = (...args) => beginRun('wide.c', '--solver', 'euler', '--step', '0.01', '--interval', '0.01', ...args);

function connect(url) {
  const {hostname, port} = new URL(url);
  return new Promise((done, failed) => {
    const socket = net.connect(Number(port), hostname, () => done(socket));
    socket.on('error', failed);
  });
}

test('connections that say nothing keep nobody out', async () => {
  const run = await begin('--stop', '1000', '-o', 'silent.csv');
  const silent = [];
  for (let i = 0; i < 40; i++) silent.push(await connect(run.url));
  for (const s of silent) s.on('error', () => {});
  assert.equal(await ask(run.url), 200);
  assert.equal(await ask(run.url + 'points?epoch=0&from=0'), 200);
  for (const s of silent) s.destroy();
  run.child.kill('SIGINT');
  await run.ended;
});

test('a reader that stalls does not hold the run, nor its end', async () => {
  const run = await begin('--stop', '8', '-o', 'stalled.csv');
  const path = new URL(run.url).pathname;
  const stalled = [];
  for (let i = 0; i < 8; i++) {
    const s = await connect(run.url);
    s.on('error', () => {});
    s.pause();
    s.write('GET ' + path + ' HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    stalled.push(s);
  }
  assert.equal(await ask(run.url), 200);
  assert.equal((await run.ended).code, 0); // in some seconds; an hour would be a hang
  for (const s of stalled) s.destroy();
});

test('one Ctrl-C ends the waiting for pages', async () => {
  const run = await begin('--stop', '1', '-o', 'waits.csv');
  let over = false;
  run.ended.then(() => { over = true; });
  const asking = setInterval(() => { if (!over) ask(run.url + 'points?epoch=0&from=0').catch(() => {}); }, 200);
  while (!over && !fs.existsSync('waits.html')) await new Promise(next => setTimeout(next, 50));
  run.child.kill('SIGINT');
  await run.ended;
  clearInterval(asking);
});

test('all addresses, by number and by name, but by no other name', async () => {
  const run = await begin('--stop', '1000', '-o', 'any.csv', '--listen', '0.0.0.0');
  const {hostname, port, pathname} = new URL(run.url);
  assert.equal(hostname, os.hostname().toLowerCase());
  const here = 'http://127.0.0.1:' + port + pathname;
  assert.equal(await ask(here), 200);
  assert.equal(await ask(here, {headers: {Host: '192.0.2.7:' + port}}), 200);
  assert.equal(await ask(here, {headers: {Host: 'localhost:9'}}), 200);
  assert.equal(await ask(here, {headers: {Host: os.hostname()}}), 200);
  assert.equal(await ask(here, {headers: {Host: 'evil.example:' + port}}), 403);
  assert.equal(await ask(here, {headers: {Host: '127.0.0.1.evil.example'}}), 403);
  run.child.kill('SIGINT');
  await run.ended;
});

// Rows come in pieces that fit, and a page that did not hear from the run for a while goes on with it.
test('a page that slept comes back', async () => {
  const run = await begin('--stop', '1000', '-o', 'slept.csv');
  const page = await open(run.url);
  const reached = () => page.evaluate(() => Number(document.querySelector('.surface')?.dataset.x?.split(' ')[1] ?? 0));
  const until = async ready => { while (!await ready()) await new Promise(next => setTimeout(next, 50)); };
  const told = () => page.locator('#progress-text').textContent();
  await until(async () => await reached() > 0.2);
  await page.route('**/points*', route => route.abort());
  await until(async () => (await told()).startsWith('No answer'));
  const before = await reached();
  await page.unroute('**/points*');
  await until(async () => await reached() > before + 0.2);
  assert.match(await page.locator('#progress-text').textContent(), /times real time/);
  run.child.kill('SIGINT');
  await run.ended;
  await page.close(); // not close(): the requests that failed are in its log
});
