// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// page.mjs PAGE: seconds until a page of results has drawn its first plots, and until a zoom of a plot is drawn anew.
import {pathToFileURL} from 'node:url';
import {launch} from '../scripts/browser.mjs';

const browser = await launch();
const page = await browser.newPage({viewport: {width: 1280, height: 900}});
await page.goto('about:blank');
const begin = performance.now();
await page.goto(pathToFileURL(process.argv[2]).href, {waitUntil: 'commit'});
await page.waitForSelector('.surface[data-x]', {timeout: 60000});
await page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(done))));
const load = (performance.now() - begin) / 1000;
const zooms = await page.evaluate(async () => {
  const surface = document.querySelector('.surface'), times = [];
  surface.focus();
  for (let i = 0; i < 12; i++) {
    const before = performance.now();
    surface.dispatchEvent(new KeyboardEvent('keydown', {key: i < 6 ? '+' : '-', bubbles: true}));
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - before);
  }
  return times.sort((a, b) => a - b);
});
console.log(JSON.stringify({load, zoom: zooms[zooms.length >> 1] / 1000, curves: await page.locator('.chip').count()}));
await browser.close();
