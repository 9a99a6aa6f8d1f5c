// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';

import {close, download, examples, open, range, run, start, stop} from './browser.mjs';

before(start);
after(stop);

const surface = page => page.locator('.surface').first();
const chips = page => page.locator('.plot').first().locator('.chip');

run('run', '-q', '--units', examples + 'bouncing_ball/bouncing_ball.c', '-o', 'ball.csv');
run('view', 'ball.csv', '-o', 'ball.html');

// two results of the same names at other times: sin(t) and sin(t) + 0.1 t, with a jump at t = 1
function wave(path, step, slope) {
  const lines = ['time,plant.tank.level [m],plant.valve,other'];
  for (let i = 0; i * step <= 2 + 1e-9; i++) {
    const t = i * step, row = on => `${t},${Math.sin(t) + slope * t},${on},${t * t}`;
    if (Math.abs(t - 1) < 1e-9) lines.push(row(0));
    lines.push(row(t < 1 - 1e-9 ? 0 : 1));
  }
  fs.writeFileSync(path, lines.join('\n') + '\n');
}
wave('a.csv', 0.01, 0);
wave('b.csv', 0.0125, 0.1);

test('opens without errors and loads nothing else', async () => {
  const page = await open(process.cwd() + '/ball.html');
  assert.equal(await page.title(), 'ball.csv');
  assert.equal(await page.locator('.plot').count(), 2); // m and m/s
  const times = fs.readFileSync('ball.csv', 'utf8').trim().split('\n').slice(1).map(l => l.split(',')[0]);
  const twice = new Set(times.filter((t, i) => i > 0 && t === times[i - 1])).size;
  assert.ok(twice >= 6); // bounces
  assert.equal(await surface(page).getAttribute('data-events'), String(twice));
  assert.deepEqual(await range(page), [0, 3]);
  assert.equal(page.requests.length, 1);
  await close(page);
});

test('search finds a variable, and ticking it draws it', async () => {
  run('view', 'a.csv', '-o', 'a.html', '--only', 'other');
  const page = await open(process.cwd() + '/a.html');
  assert.equal(await page.locator('#tree summary').first().textContent(), 'plant');
  await page.keyboard.press('/');
  await page.keyboard.type('LEV tank');
  assert.equal(await page.locator('#found').textContent(), '1 of 3');
  assert.match(await page.locator('.leaf').textContent(), /plant\.tank\.level/);
  assert.equal(await chips(page).count(), 1);
  await page.locator('.leaf input').check();
  assert.deepEqual(await chips(page).locator('button:first-of-type').allTextContents(), ['other', 'plant.tank.level [m]']);
  await page.locator('.leaf input').uncheck();
  assert.equal(await chips(page).count(), 1);
  await page.locator('#search').fill('nothing like that');
  assert.equal(await page.locator('#found').textContent(), '0 of 3');
  await close(page);
});

// The number of pixels of the canvas in the colour of the first curve.
const inked = async page => page.waitForSelector('.surface canvas').then(() => page.evaluate(() => {
  const c = document.querySelector('.surface canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  const colour = getComputedStyle(document.documentElement).getPropertyValue('--c0').trim();
  const [r, g, b] = [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16));
  let n = 0;
  for (let i = 0; i < d.length; i += 4) if (Math.abs(d[i] - r) + Math.abs(d[i + 1] - g) + Math.abs(d[i + 2] - b) < 24 && d[i + 3] > 200) n++;
  return n;
}));

test('curves are drawn, in light and dark', async () => {
  const page = await open(process.cwd() + '/ball.html');
  assert.ok(await inked(page) > 500);
  const bright = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.locator('#theme').click();
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), bright);
  assert.ok(await inked(page) > 500);
  await chips(page).locator('button').first().click(); // hides the only curve
  assert.equal(await inked(page), 0);
  await close(page);
  const dark = await open(process.cwd() + '/ball.html', {colorScheme: 'dark'});
  assert.notEqual(await dark.evaluate(() => getComputedStyle(document.body).backgroundColor), bright);
  await close(dark);
});

test('one row in many stays visible', async () => {
  const lines = ['time,y'];
  for (let i = 0; i < 20000; i++) lines.push(i + ',' + (i === 12345 ? 1 : 0));
  fs.writeFileSync('spike.csv', lines.join('\n') + '\n');
  run('view', 'spike.csv', '-o', 'spike.html');
  const page = await open(process.cwd() + '/spike.html');
  await page.waitForSelector('.surface[data-x]');
  const box = await page.evaluate(() => { // where the colour of the curve stands in the middle of the height
    const c = document.querySelector('.surface canvas'), o = document.querySelector('.u-over');
    const y = o.offsetTop + (o.offsetHeight >> 1), d = c.getContext('2d').getImageData(0, y, c.width, 1).data, at = [];
    for (let x = 0; x < c.width; x++) if (d[4 * x + 2] - d[4 * x] > 60) at.push((x - o.offsetLeft) / o.offsetWidth);
    return at;
  });
  assert.ok(box.length >= 1 && box.length <= 4 && Math.abs(box[0] - 12345 / 19999) < 0.005, box.join());
  await close(page);
});

test('zooms with box, wheel and keys, moves, shows all again', async () => {
  const page = await open(process.cwd() + '/ball.html');
  const box = await surface(page).locator('.u-over').boundingBox();
  const at = part => [box.x + part * box.width, box.y + box.height / 2];
  await page.mouse.move(...at(1 / 3));
  await page.mouse.down();
  await page.mouse.move(...at(2 / 3), {steps: 4});
  await page.mouse.up();
  const boxed = await range(page);
  assert.ok(Math.abs(boxed[0] - 1) < 0.02 && Math.abs(boxed[1] - 2) < 0.02, String(boxed));
  assert.deepEqual(await range(page, 1), boxed); // plots share their time
  await page.keyboard.down('Shift'); // move by half a width
  await page.mouse.move(...at(0.75));
  await page.mouse.down();
  await page.mouse.move(...at(0.25), {steps: 4});
  await page.mouse.up();
  await page.keyboard.up('Shift');
  const moved = await range(page);
  assert.ok(Math.abs(moved[0] - boxed[0] - 0.5) < 0.02, String(moved));
  assert.ok(Math.abs(moved[1] - moved[0] - (boxed[1] - boxed[0])) < 1e-9);
  await page.mouse.move(...at(0.5));
  await page.mouse.wheel(0, -300);
  const wheeled = await range(page);
  assert.ok(Math.abs((wheeled[1] - wheeled[0]) * Math.E - (moved[1] - moved[0])) < 0.02);
  await page.mouse.dblclick(...at(0.5));
  assert.deepEqual(await range(page), [0, 3]);
  await surface(page).press('+');
  assert.ok(Math.abs((await range(page))[1] - (1.5 + 0.7 * 1.5)) < 1e-9);
  await page.locator('#link').uncheck();
  await surface(page).press('Shift+ArrowRight');
  assert.notDeepEqual(await range(page), await range(page, 1));
  await surface(page).press('Home');
  assert.deepEqual(await range(page), [0, 3]);
  await close(page);
});

test('the cursor shows values', async () => {
  run('view', 'a.csv', '-o', 'a.html', '--only', 'other');
  const page = await open(process.cwd() + '/a.html');
  const box = await surface(page).locator('.u-over').boundingBox();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 50);
  const text = await page.locator('.plot .time-at').last().textContent();
  const t = Number(text.match(/time = ([\d.]+) s/)[1]), shown = Number(await page.locator('.chip .value').textContent());
  assert.ok(Math.abs(t - 1.5) < 0.01 && Math.abs(shown - t * t) < 1e-3, text + ' ' + shown);
  await page.mouse.move(5, 5);
  assert.equal(await page.locator('.chip .value').textContent(), '');
  await close(page);
});

test('compares two results, and shows the difference on an axis of its own', async () => {
  run('view', 'a.csv', 'b.csv', '-o', 'both.html', '--only', 'plant.tank.level');
  const page = await open(process.cwd() + '/both.html');
  assert.equal(await chips(page).count(), 2);
  await page.getByRole('button', {name: 'Difference'}).click();
  assert.equal(await chips(page).count(), 3);
  assert.match(await chips(page).last().textContent(), /Δ plant\.tank\.level \(b\.csv − a\.csv\)/);
  const ranges = (await surface(page).getAttribute('data-y')).split(';');
  assert.equal(ranges.length, 2);
  const [low, high] = ranges[1].split(' ').map(Number); // 0 to 0.2 and a twentieth more on each side
  assert.ok(Math.abs(low + 0.01) < 1e-4 && Math.abs(high - 0.21) < 1e-4, ranges[1]);
  const box = await surface(page).locator('.u-over').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 50);
  const t = Number((await page.locator('.plot .time-at').last().textContent()).match(/= ([\d.]+)/)[1]);
  const shown = Number(await page.locator('.chip .value').last().textContent());
  assert.ok(Math.abs(shown - 0.1 * t) < 1e-4);
  // the valve jumps at t = 1 in both: no difference, although rows stand at other times
  await page.keyboard.press('/');
  await page.keyboard.type('valve');
  await page.locator('.leaf input').check();
  const csv = await download(page, () => page.locator('.plot').first().getByLabel('Export').selectOption('csv'));
  const rows = csv.bytes.toString().trim().split('\n').map(l => l.split(','));
  const column = rows[0].findIndex(n => n.startsWith('Δ plant.valve'));
  for (const row of rows.slice(1)) assert.ok(row[column] === '' || Math.abs(Number(row[column])) < 1e-9, row.join());
  await close(page);
});

test('draws one variable over another, to the same scale where units are the same', async () => {
  const lines = ['time,x [m],y [m]'];
  for (let i = 0; i <= 628; i++) lines.push([i / 100, 3 * Math.cos(i / 100), 3 * Math.sin(i / 100)].join());
  fs.writeFileSync('circle.csv', lines.join('\n') + '\n');
  run('view', 'circle.csv', '-o', 'circle.html', '--xy', 'x,y', '--only', 'x');
  const page = await open(process.cwd() + '/circle.html');
  const box = await surface(page).locator('.u-over').boundingBox();
  const x = await range(page), y = (await surface(page).getAttribute('data-y')).split(' ').map(Number);
  assert.ok(Math.abs((x[1] - x[0]) / box.width - (y[1] - y[0]) / box.height) < 2e-4);
  await page.mouse.move(box.x + box.width / 2, box.y + 5); // above the uppermost point
  assert.match(await page.locator('.time-at').first().textContent(), /time = 1\.5[67] s/);
  // put together by hand
  await page.locator('#add-phase').click();
  const plot = page.locator('.plot').last();
  await plot.getByLabel('Variable across').selectOption('x');
  await page.locator('#search').fill('y');
  await page.locator('.leaf input').check();
  const again = (await plot.locator('.surface').getAttribute('data-x')).split(' ').map(Number);
  assert.ok(again[0] <= -3 && again[1] >= 3);
  await close(page);
});

test('axes are shared by unit, by all or by none', async () => {
  run('view', 'a.csv', '-o', 'a.html', '--only', 'other');
  const page = await open(process.cwd() + '/a.html');
  await page.locator('#search').fill('plant');
  for (const box of await page.locator('.leaf input').all()) await box.check();
  const scales = async () => (await surface(page).getAttribute('data-y')).split(';').length;
  assert.equal(await scales(), 2);
  await page.getByLabel('Axes').selectOption('each');
  assert.equal(await scales(), 3);
  await page.getByLabel('Axes').selectOption('one');
  assert.equal(await scales(), 1);
  await close(page);
});

test('exports every row and digit in view, and pictures', async () => {
  const page = await open(process.cwd() + '/ball.html');
  const save = what => download(page, () => page.locator('.plot').first().getByLabel('Export').selectOption(what));
  const csv = await save('csv');
  assert.equal(csv.name, 'ball.csv');
  const original = fs.readFileSync('ball.csv', 'utf8').trim().split('\n').map(l => l.split(','));
  const column = original[0].indexOf('h [m]');
  const wanted = original.map(r => [r[0], r[column]]);
  const got = csv.bytes.toString().trim().split('\n').map(l => l.split(','));
  assert.equal(got.length, wanted.length);
  assert.deepEqual(got[0], wanted[0]);
  for (let i = 1; i < got.length; i++) assert.deepEqual(got[i].map(Number), wanted[i].map(Number));
  const svg = (await save('svg')).bytes.toString();
  const read = await page.evaluate(text => {
    const doc = new DOMParser().parseFromString(text, 'image/svg+xml');
    return {error: doc.querySelector('parsererror')?.textContent, texts: [...doc.querySelectorAll('text')].map(t => t.textContent),
      longest: Math.max(...[...doc.querySelectorAll('path')].map(p => p.getAttribute('d').length))};
  }, svg);
  assert.equal(read.error, undefined);
  assert.ok(read.texts.includes('h [m]') && read.texts.includes('time [s]') && read.texts.includes('0.5'), read.texts.join());
  assert.ok(read.longest > 2000);
  const png = (await save('png')).bytes;
  assert.equal(png.subarray(0, 4).toString('latin1'), '\x89PNG');
  assert.ok(png.readUInt32BE(16) > 700 && png.readUInt32BE(20) > 250);
  // only what is in view
  await surface(page).press('+');
  const fewer = (await save('csv')).bytes.toString().trim().split('\n').length;
  assert.ok(fewer < got.length && fewer > got.length / 2);
  await close(page);
});

test('everything can be reached with the keyboard', async () => {
  const page = await open(process.cwd() + '/ball.html');
  const seen = new Set();
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press('Tab');
    seen.add(await page.evaluate(() => {
      const e = document.activeElement;
      return e.id || e.getAttribute('aria-label') || e.className || e.textContent;
    }));
  }
  for (const name of ['add-time', 'theme', 'show-report', 'search', 'Axes', 'Export', 'Remove plot', 'Plot over time'])
    assert.ok(seen.has(name), name + ' in ' + [...seen].join());
  await surface(page).focus();
  await page.keyboard.press('ArrowRight');
  assert.match(await page.locator('#announce').textContent(), /time = 1\.5 s: h 0\.\d+/);
  await page.keyboard.press('n');
  assert.equal(await page.locator('.plot').count(), 3);
  await page.keyboard.press('Delete');
  assert.equal(await page.locator('.plot').count(), 2);
  await close(page);
});

test('what a model says stays text', async () => {
  const image = '<img src=x onerror=window.hacked=1>', script = '</script><script>window.hacked=1</script>';
  const quoted = text => '"' + text.replace(/"/g, '""') + '"';
  fs.writeFileSync('hostile.csv', ['time', quoted(image), quoted(script), quoted('a"b\'c&amp;.__proto__'), 'v [<b>m</b>]'].join() +
    '\n0,1,2,3,4\n1,2,3,4,5\n');
  run('view', 'hostile.csv', '-o', 'hostile.html');
  const page = await open(process.cwd() + '/hostile.html');
  await page.locator('#search').fill('img');
  assert.equal((await page.locator('.leaf').textContent()), image);
  await page.locator('#search').fill('');
  const names = (await chips(page).locator('button:first-of-type').allTextContents()).join('\n');
  assert.ok(names.includes(image) && names.includes(script) && names.includes('a"b\'c&amp;.__proto__'), names);
  const svg = (await download(page, () => page.locator('.plot').first().getByLabel('Export').selectOption('svg'))).bytes.toString();
  assert.ok(svg.includes('&lt;img') && !svg.includes('<img'));
  await page.locator('#show-report').click();
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator('img, main script, aside script').count(), 0);
  assert.deepEqual(page.errors, []);
  // and even markup that got in would not run
  await page.evaluate(() => {
    const s = document.createElement('script');
    s.textContent = 'window.hacked = 1';
    document.body.append(s);
    document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.hacked=1">');
  });
  await page.waitForTimeout(50);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.ok(page.errors.some(e => e.includes('Content Security Policy')));
  page.errors = [];
  await close(page);
});

test('fits a phone, and two fingers zoom', async () => {
  const page = await open(process.cwd() + '/ball.html', {viewport: {width: 390, height: 800}, hasTouch: true, isMobile: true});
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  assert.equal(await page.locator('#side').isVisible(), false);
  await page.locator('#menu').tap();
  assert.equal(await page.locator('#search').isVisible(), true);
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#side').isVisible(), false);
  const box = await surface(page).locator('.u-over').boundingBox(), y = box.y + box.height / 2;
  const client = await page.context().newCDPSession(page);
  const touch = (type, ...xs) => client.send('Input.dispatchTouchEvent', {type, touchPoints: xs.map((x, id) => ({x: box.x + x * box.width, y, id}))});
  await touch('touchStart', 0.4, 0.6);
  for (const d of [0.15, 0.2, 0.25]) await touch('touchMove', 0.5 - d, 0.5 + d);
  await touch('touchEnd');
  const zoomed = await range(page);
  assert.ok(zoomed[1] - zoomed[0] < 1.8 && zoomed[0] > 0.3, String(zoomed));
  await touch('touchStart', 0.3);
  for (const x of [0.4, 0.5, 0.6]) await touch('touchMove', x);
  await touch('touchEnd');
  const moved = await range(page);
  assert.ok(moved[0] < zoomed[0] - 0.05, String(moved));
  await close(page);
});
