// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// screenshots.mjs PAGE PICTURE [WIDTH HEIGHT SCHEME [SCRIPT]]: the page as a browser shows it, after a script ran in it.
import {createRequire} from 'node:module';
import {resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [, , file, picture, width = '1180', height = '800', colorScheme = 'light', script] = process.argv;
const {chromium} = createRequire(process.env.COUPLET_NPM + '/x.js')('playwright-core');
const args = process.getuid() === 0 ? ['--no-sandbox'] : [];
const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args});
const page = await browser.newPage({viewport: {width: Number(width), height: Number(height)}, colorScheme});
await page.goto(pathToFileURL(resolve(file)).href);
await page.waitForSelector('.surface[data-x], #picture[data-nodes]');
if (script) await page.evaluate(script);
await page.waitForTimeout(200);
await page.screenshot({path: picture});
await browser.close();
