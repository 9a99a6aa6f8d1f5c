// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Logarithmic axes, plots below each other, heights, narrow screens.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';

import {close, download, open, range, run, start, stop} from './browser.mjs';

before(start);
after(stop);

// y = 10^(t - 3) for t from 0 to 8; z = sin(t), partly below zero; n below zero; wide numbers; two units in a plot
const lines = ['time,y [Pa],z,n [K],wide [m],u [V],w [A]'];
for (let i = 0; i <= 800; i++) {
  const t = i / 100;
  lines.push([t, 10 ** (t - 3), Math.sin(t), -1 - t, 1234567 + t / 100, 1e-7 * t, t * t].join());
}
fs.writeFileSync('log.csv', lines.join('\n') + '\n');
run('view', 'log.csv', '-o', 'log.html', '--only', 'y');

const surface = (page, i = 0) => page.locator('.surface').nth(i);
const rangesY = async (page, i = 0) => (await surface(page, i).getAttribute('data-y')).split(';').map(r => r.split(' ').map(Number));
const settled = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)))));

// Heights of the centre of the ink of the first curve at parts of the width, as parts of the height of the area.
const inkAt = (page, parts) => page.evaluate(parts => {
  const c = document.querySelector('.surface canvas'), o = document.querySelector('.u-over'), ratio = devicePixelRatio;
  const colour = getComputedStyle(document.documentElement).getPropertyValue('--c0').trim(), rgb = [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16));
  const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  return parts.map(part => {
    const x = Math.round((o.offsetLeft + part * o.offsetWidth) * ratio);
    let sum = 0, n = 0;
    for (let y = 0; y < c.height; y++) {
      const at = 4 * (y * c.width + x);
      if (rgb.every((v, i) => Math.abs(d[at + i] - v) < 40) && d[at + 3] > 150) { sum += y; n++; }
    }
    return (sum / n / ratio - o.offsetTop) / o.offsetHeight;
  });
}, parts);

test('powers of ten are a straight line on a logarithmic axis', async () => {
  const page = await open(process.cwd() + '/log.html');
  await page.getByRole('button', {name: 'log y'}).click();
  assert.equal(await surface(page).getAttribute('data-log'), 'false,true');
  assert.equal(await page.getByRole('button', {name: 'log y'}).getAttribute('aria-pressed'), 'true');
  const [[low, high]] = await rangesY(page); // eight decades and a twentieth more on each side
  assert.ok(Math.abs(Math.log10(low) + 3.4) < 1e-9 && Math.abs(Math.log10(high) - 5.4) < 1e-9, low + ' ' + high);
  await settled(page);
  const parts = [0.1, 0.3, 0.5, 0.7, 0.9], ink = await inkAt(page, parts);
  parts.forEach((x, i) => assert.ok(Math.abs(ink[i] - (1 - (0.4 + 8 * x) / 8.8)) < 0.01, 'at ' + x + ': ' + ink[i]));
  // ticks are powers of ten, in the picture, too, whose line is straight
  const svg = (await download(page, () => page.getByLabel('Export').selectOption('svg'))).bytes.toString();
  for (const text of ['>0.001<', '>0.01<', '>1<', '>100<', '>10000<', '>100000<']) assert.ok(svg.includes(text), text);
  const path = [...svg.matchAll(/ d="(M[^"]*L[^"]*)"/g)].map(m => m[1]).sort((a, b) => b.length - a.length)[0];
  const points = [...path.matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].map(m => [Number(m[1]), Number(m[2])]), [a, b] = [points[0], points.at(-1)];
  for (const [x, y] of points) assert.ok(Math.abs(y - a[1] - (x - a[0]) / (b[0] - a[0]) * (b[1] - a[1])) < 0.5);
  // the wheel and keys zoom by factors
  await surface(page).focus();
  await page.keyboard.press('ArrowUp');
  const [[l, h]] = await rangesY(page);
  assert.ok(Math.abs(Math.log10(h / l) - 8.8) < 1e-9 && Math.abs(Math.log10(l / low) - 0.88) < 1e-9);
  await close(page);
});

test('a logarithmic axis across: time zero has no place, plots that are linked keep their own', async () => {
  const page = await open(process.cwd() + '/log.html');
  await page.locator('#add-time').click();
  await page.locator('#search').fill('wide');
  await page.locator('.leaf input').check();
  await page.locator('.plot').first().getByRole('button', {name: 'log x'}).click();
  assert.deepEqual(await range(page, 0), [0.01, 8]);
  assert.deepEqual(await range(page, 1), [0, 8]);
  await settled(page);
  const parts = [0.5, 0.8, 0.95], [[low, high]] = await rangesY(page), ink = await inkAt(page, parts);
  parts.forEach((x, i) => { // at a part of the width the time is 0.01 * 800^part
    const t = 0.01 * 800 ** x;
    assert.ok(Math.abs(ink[i] - (1 - (10 ** (t - 3) - low) / (high - low))) < 0.03, 'at ' + t + ': ' + ink[i]);
  });
  // the box zooms to what is in it
  const box = await surface(page).locator('.u-over').boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 62, {steps: 3});
  await page.mouse.up();
  const zoomed = await range(page, 0);
  assert.ok(Math.abs(zoomed[0] - 0.01 * 800 ** 0.5) < 0.005 && Math.abs(zoomed[1] - 0.01 * 800 ** 0.75) < 0.03, zoomed.join());
  assert.deepEqual(await range(page, 1), zoomed);
  await close(page);
});

test('values that are not above zero are gaps, and that is said; without any above it the axis stays linear', async () => {
  run('view', 'log.csv', '-o', 'z.html', '--only', 'z');
  const page = await open(process.cwd() + '/z.html');
  await page.getByRole('button', {name: 'log y'}).click();
  const [[low, high]] = await rangesY(page), below = lines.slice(1).filter(l => Number(l.split(',')[2]) <= 0).length;
  assert.ok(low > 0 && high > 1, low + ' ' + high);
  assert.match(await page.locator('.plot .time-at').last().textContent(), new RegExp('^' + below + ' values that are not above 0 are not shown$'));
  await page.locator('#search').fill('n');
  await page.locator('.leaf input[data-name=n]').check();
  assert.equal(await surface(page).getAttribute('data-log'), 'false,true,false');
  await close(page);
  run('view', 'log.csv', '-o', 'plane.html', '--only', 'y', '--xy', 'y,w');
  const plane = await open(process.cwd() + '/plane.html');
  for (const way of ['log x', 'log y']) await plane.locator('.plot').first().getByRole('button', {name: way}).click();
  assert.equal(await surface(plane).getAttribute('data-log'), 'true,true');
  const x = await range(plane);
  assert.ok(Math.abs(Math.log10(x[0]) + 3.4) < 1e-9 && Math.abs(Math.log10(x[1]) - 5.4) < 1e-9, x.join());
  await close(plane);
});

// Places of the areas of curves of all plots, in pixels.
const areas = page => page.evaluate(() => [...document.querySelectorAll('.u-over')].map(o => {
  const r = o.getBoundingClientRect();
  return {left: r.left, width: r.width, height: r.height, right: r.right};
}));

test('times stand below each other to the pixel', async () => {
  for (const deviceScaleFactor of [1, 1.5, 2]) {
    run('view', 'log.csv', '-o', 'stack.html', '--only', 'wide', '--only', 'y', '--only', 'z');
    const page = await open(process.cwd() + '/stack.html', {viewport: {width: 1100, height: 1400}, deviceScaleFactor});
    await page.locator('.plot').first().locator('.bar').click();
    await page.locator('#search').fill('u');
    for (const name of ['u', 'w']) { // a second axis, on the right, and a third on the left
      await page.locator('#search').fill(name);
      await page.locator(`.leaf input[data-name=${name}]`).check();
    }
    await settled(page);
    let all = await areas(page);
    assert.equal(all.length, 3);
    for (const a of all) assert.deepEqual([a.left, a.width], [all[0].left, all[0].width]);
    const before = all[0];
    await page.locator('.chip .drop').nth(1).click(); // an axis less: all have more room
    await settled(page);
    all = await areas(page);
    for (const a of all) assert.deepEqual([a.left, a.width], [all[0].left, all[0].width]);
    assert.ok(all[0].width > before.width, all[0].width + ' ' + before.width);
    await page.getByRole('button', {name: 'log y'}).nth(1).click(); // other labels
    await page.locator('.plot').nth(1).getByRole('button', {name: 'Spectrum'}).click(); // and spectra are among them
    await settled(page);
    all = await areas(page);
    assert.equal(all.length, 4);
    for (const a of all) assert.deepEqual([a.left, a.width], [all[0].left, all[0].width]);
    await close(page);
  }
});

test('ticks of large numbers can be told apart', async () => {
  run('view', 'log.csv', '-o', 'wide.html', '--only', 'wide');
  const page = await open(process.cwd() + '/wide.html');
  const svg = (await download(page, () => page.getByLabel('Export').selectOption('svg'))).bytes.toString();
  const labels = [...svg.matchAll(/text-anchor="end">([^<]*)</g)].map(m => m[1]);
  assert.ok(labels.length >= 3 && new Set(labels).size === labels.length, labels.join());
  await close(page);
});

test('plots use the height of the window', async () => {
  run('view', 'log.csv', '-o', 'one.html', '--only', 'y');
  const page = await open(process.cwd() + '/one.html', {viewport: {width: 1100, height: 900}});
  const scrolls = () => page.evaluate(() => { const m = document.getElementById('main'); return m.scrollHeight > m.clientHeight; });
  const bottom = () => page.evaluate(() => document.querySelector('.plot:last-of-type').getBoundingClientRect().bottom - innerHeight);
  await settled(page);
  assert.equal(await scrolls(), false);
  assert.ok((await areas(page))[0].height > 600 && await bottom() > -20);
  await page.keyboard.press('n'); // two share it
  await settled(page);
  assert.equal(await scrolls(), false);
  let all = await page.evaluate(() => [...document.querySelectorAll('.surface')].map(s => s.offsetHeight));
  assert.ok(all.every(h => h > 280) && Math.abs(all[0] - all[1]) < 2 && await bottom() > -20, all.join());
  await page.setViewportSize({width: 1100, height: 1300});
  await settled(page);
  all = await page.evaluate(() => [...document.querySelectorAll('.surface')].map(s => s.offsetHeight));
  assert.ok(all.every(h => h > 480) && await bottom() > -20 && !await scrolls(), all.join());
  for (let i = 0; i < 8; i++) await page.keyboard.press('n'); // more than fit: none becomes flat, the page scrolls
  await settled(page);
  all = await page.evaluate(() => [...document.querySelectorAll('.surface')].map(s => s.offsetHeight));
  assert.ok(all.length === 10 && all.every(h => h >= 180) && await scrolls(), all.join());
  await close(page);
});

test('on a phone every button of the page is in view', async () => {
  for (const width of [320, 360, 412]) {
    const page = await open(process.cwd() + '/log.html', {viewport: {width, height: 740}, hasTouch: true, isMobile: true});
    await settled(page);
    const found = await page.evaluate(() => [...document.querySelectorAll('header button, header label, .tools > *, .chip > *')].filter(e => e.offsetParent).map(e => {
      const r = e.getBoundingClientRect();
      return {text: e.id || e.textContent, left: r.left, right: r.right, top: r.top, bottom: r.bottom, height: r.height, tall: e.matches('button, select')};
    }));
    assert.ok(found.length >= 16, String(found.length));
    for (const f of found) assert.ok(f.left >= 0 && f.right <= width && f.top >= 0 && f.bottom <= 740 && (!f.tall || f.height >= 30), width + ': ' + JSON.stringify(f));
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assert.ok(await page.evaluate(() => document.querySelector('header').offsetHeight) <= 170);
    assert.ok((await areas(page))[0].height > 200); // and the curves, too
    await page.locator('#copy-link').tap();
    await page.waitForSelector('#notice:not([hidden])'); // the clipboard answers later
    await close(page);
  }
});
