// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The browser for tests, pictures and benchmarks: the one that CHROMIUM names, or else Debian's headless shell of Chromium, which is
// the smaller and faster, or else its Chromium.
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';

const {chromium} = createRequire(process.env.COUPLET_NPM + '/x.js')('playwright-core');

export function launch() {
  const shell = '/usr/bin/chromium-headless-shell';
  const executablePath = process.env.CHROMIUM || (existsSync(shell) ? shell : '/usr/bin/chromium');
  const args = process.getuid() === 0 ? ['--no-sandbox'] : []; // root in a container has no sandbox
  return chromium.launch({executablePath, args});
}
