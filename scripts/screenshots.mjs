// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// screenshots.mjs PAGE PICTURE [WIDTH HEIGHT SCHEME [SCRIPT]]: the page as a browser shows it, after a script ran in it.
import {resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {launch} from './browser.mjs';

const [, , file, picture, width = '1180', height = '800', colorScheme = 'light', script] = process.argv;
const browser = await launch();
const page = await browser.newPage({viewport: {width: Number(width), height: Number(height)}, colorScheme});
await page.goto(pathToFileURL(resolve(file)).href);
await page.waitForSelector('.surface[data-x], #picture[data-nodes]');
if (script) await page.evaluate(script);
await page.waitForFunction(() => document.documentElement.dataset.busy !== 'true'); // the page of a study
await page.waitForTimeout(200);
await page.screenshot({path: picture});
await browser.close();
