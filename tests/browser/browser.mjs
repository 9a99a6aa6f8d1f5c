// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What every test in the browser needs: couplet, Debian's Chromium, pages that report every error.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {pathToFileURL} from 'node:url';
import {launch} from '../../scripts/browser.mjs';

export const couplet = process.env.COUPLET;
export const examples = process.env.COUPLET_SOURCE_DIR + '/examples/';

export function run(...args) {
  return execFileSync(couplet, args, {encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit']});
}

let browser;
export async function start() {
  browser = await launch();
  return browser;
}
export const stop = () => browser.close();

// A page, the errors it told and what it tried to load.
export async function open(file, options = {}) {
  const context = await browser.newContext({viewport: {width: 1100, height: 800}, ...options});
  const page = await context.newPage();
  page.setDefaultTimeout(60000); // only what never happens takes so long
  page.errors = [];
  page.requests = [];
  page.on('console', m => { if (['error', 'warning'].includes(m.type())) page.errors.push(m.text()); });
  page.on('pageerror', e => page.errors.push(String(e)));
  page.on('dialog', d => { page.errors.push('dialog: ' + d.message()); d.dismiss(); });
  page.on('request', r => page.requests.push(r.url()));
  await page.goto(/^http:/.test(file) ? file : pathToFileURL(file).href);
  return page;
}

export async function close(page) {
  assert.deepEqual(page.errors, []);
  await page.context().close();
}

export async function range(page, plot = 0) {
  return (await page.locator('.surface').nth(plot).getAttribute('data-x')).split(' ').map(Number);
}

export async function download(page, action) {
  const [file] = await Promise.all([page.waitForEvent('download'), action()]);
  const stream = await file.createReadStream(), parts = [];
  for await (const part of stream) parts.push(part);
  return {name: file.suggestedFilename(), bytes: Buffer.concat(parts)};
}
