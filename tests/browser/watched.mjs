// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs that are watched, and questions to them.
import {spawn} from 'node:child_process';
import http from 'node:http';

import {couplet} from './browser.mjs';

const children = [];
export function endRuns() { // those of tests that failed
  for (const child of children) child.kill('SIGKILL');
}

// couplet run --live, its address, and a promise of how it ends.
export async function begin(...args) {
  const child = spawn(couplet, ['run', ...args, '--live']);
  children.push(child);
  let told = '';
  const ended = new Promise(done => child.on('close', code => done({code, told})));
  const url = await new Promise((found, lost) => {
    child.stderr.on('data', d => { told += d; const at = told.match(/live: (http:\S+)\n/); if (at) found(at[1]); });
    child.on('close', () => lost(new Error('no address: ' + told)));
  });
  return {child, url, ended};
}

export function ask(url, options = {}) {
  return new Promise((done, failed) => {
    const request = http.request(url, options, answer => { answer.resume(); answer.on('end', () => done(answer.statusCode)); });
    request.on('error', failed);
    request.end();
  });
}
