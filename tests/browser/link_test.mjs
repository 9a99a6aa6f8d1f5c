// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Links that restore a view; several results.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {close, open, range, run, start, stop} from './browser.mjs';
import {begin, endRuns} from './watched.mjs';

before(start);
after(async () => { endRuns(); await stop(); });

// events at 1 (both), at 0.5 (a) and at 1.5 (b); each has a variable of its own
function write(path, own, event, unit) {
  const lines = [`time,plant.level [${unit}],valve,${own} [V]`];
  for (let i = 0; i <= 200; i++) {
    const t = i / 100, row = on => [t, 2 + Math.sin(t), on, 1 + t].join();
    if (t === 1 || t === event) lines.push(row(0));
    lines.push(row(t >= 1 ? 1 : 0));
  }
  fs.writeFileSync(path, lines.join('\n') + '\n');
}
write('a.csv', 'left.only', 0.5, 'm');
write('b.csv', 'right.only', 1.5, 'mm');
run('view', 'a.csv', 'b.csv', '-o', 'both.html', '--only', 'plant.level');

const names = (page, i = 0) => page.locator('.plot').nth(i).locator('.chip button:first-of-type').allTextContents();
const settled = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)))));
// All that is seen of a page.
const seen = page => page.evaluate(() => ({
  plots: [...document.querySelectorAll('.plot')].map(p => ({
    active: p.classList.contains('active'), data: {...p.querySelector('.surface').dataset}, chips: [...p.querySelectorAll('.chip')].map(c => [c.textContent,
      c.querySelector('button').className, c.querySelector('path').getAttribute('stroke')]),
    pressed: [...p.querySelectorAll('.tools [aria-pressed]')].map(b => b.getAttribute('aria-pressed')), chosen: [...p.querySelectorAll('.tools select')].map(s => s.value),
    kind: p.querySelector('.surface').getAttribute('aria-label'), note: p.lastElementChild.textContent,
  })),
  linked: document.getElementById('link').checked, events: document.getElementById('events').checked,
}));

async function copied(page) {
  await page.locator('#copy-link').click();
  await page.waitForSelector('#notice:not([hidden])');
  return page.evaluate(() => navigator.clipboard.readText());
}

async function compose(page) {
  await page.locator('#expression').fill('der(plant.level@b.csv) + 0.001');
  await page.locator('#expression').press('Enter');
  await page.locator('.plot').first().getByRole('button', {name: 'log y'}).click();
  await page.locator('.plot').first().getByLabel('Axes').selectOption('each');
  await page.locator('.plot').first().locator('.chip button').first().click(); // hidden
  const over = await page.locator('.surface').first().locator('.u-over').boundingBox();
  await page.mouse.move(over.x + over.width * 0.2, over.y + 30);
  await page.mouse.down();
  await page.mouse.move(over.x + over.width * 0.7, over.y + 90, {steps: 4});
  await page.mouse.up();
  await page.mouse.click(over.x + over.width * 0.4, over.y + 50); // the cursor stays here
  await page.locator('.plot').first().getByRole('button', {name: 'Spectrum'}).click();
  await page.locator('.plot').last().getByLabel('Window').selectOption('blackman');
  await page.locator('.plot').last().getByRole('button', {name: 'log x'}).click();
  await page.locator('#add-phase').click();
  await page.locator('.plot').last().getByLabel('Variable across').selectOption('valve');
  await page.locator('#search').fill('right.only');
  await page.locator('.leaf input').check();
  await page.locator('#link').uncheck();
  await page.locator('#events').uncheck();
  await page.locator('.surface').nth(1).scrollIntoViewIfNeeded();
  await page.locator('.plot').nth(1).locator('.time-at').last().click();
  await page.mouse.move(5, 5);
  await settled(page);
}

test('a link restores everything, from a file', async () => {
  const page = await open(process.cwd() + '/both.html', {viewport: {width: 1100, height: 2000}, permissions: ['clipboard-read', 'clipboard-write']});
  await compose(page);
  const before = await seen(page), link = await copied(page);
  assert.ok(link.startsWith(pathToFileURL(process.cwd() + '/both.html').href + '#view='), link.slice(0, 80));
  assert.match(link.split('#view=')[1], /^[\w-]+$/); // nothing that mail programs break
  assert.equal(page.url(), link);
  await close(page);
  const again = await open(process.cwd() + '/both.html', {viewport: {width: 1100, height: 2000}});
  const other = await seen(again);
  assert.notDeepEqual(other, before);
  await again.goto(link); // in the page that is open
  await again.waitForFunction(n => document.querySelectorAll('.plot').length === n, before.plots.length);
  await settled(again);
  assert.deepEqual(await seen(again), before);
  await again.reload(); // and in a new one
  await settled(again);
  assert.deepEqual(await seen(again), before);
  assert.ok(before.plots[0].data.pin > 0.4 && before.plots[0].data.log.includes('true') && before.plots.some(p => p.kind === 'Spectrum' && p.chosen[0] === 'blackman') &&
    before.plots.some(p => p.kind === 'Phase plot' && p.chosen[0] === 'valve') && before.plots[0].chips.some(c => c[1] === 'hidden'), JSON.stringify(before));
  await close(again);
});

test('a link fits later results, and says what they do not have', async () => {
  const page = await open(process.cwd() + '/both.html', {permissions: ['clipboard-read', 'clipboard-write']});
  await page.locator('#search').fill('only');
  for (const box of await page.locator('.leaf input').all()) await box.check();
  const fragment = new URL(await copied(page)).hash;
  await close(page);
  fs.copyFileSync('a.csv', 'later.csv');
  run('view', 'later.csv', '-o', 'later.html', '--only', 'valve');
  const later = await open(process.cwd() + '/later.html');
  await later.goto(pathToFileURL(process.cwd() + '/later.html').href + fragment);
  await later.waitForSelector('#notice:not([hidden])');
  assert.deepEqual(await names(later), ['plant.level [m]', 'left.only [V]']);
  assert.equal(await later.locator('#notice').textContent(), 'Not in these results: plant.level, right.only');
  await close(later);
});

test('a link of others is text and cannot break the page', async () => {
  const code = text => '#view=' + Buffer.from(text).toString('base64url'), file = pathToFileURL(process.cwd() + '/both.html').href;
  for (const [fragment, notice] of [['#view=%%%', /cannot be read/], ['#view=AAAA', /cannot be read/], [code('{"plots":7}'), /cannot be read/], [code('null'), /cannot be read/],
    [code(JSON.stringify({plots: [null]})), /cannot be read/], [code(JSON.stringify({plots: [{kind: '__proto__', x: [1, null], y: {__proto__: [2, 1]}, span: 'x', window: 'toString',
      curves: [{name: '<img src=x onerror=window.hacked=1>', file: 0}, {expression: '('.repeat(3000), file: 0}, {name: 'valve', file: 'length'}, {name: 'valve', file: 1, colour: -3}]}]})),
    /^Not in these results: <img src=x onerror=window\.hacked=1>, \(\(\(/]]) {
    const page = await open(process.cwd() + '/both.html');
    await page.goto('about:blank');
    await page.goto(file + fragment);
    await page.waitForSelector('#notice:not([hidden])');
    assert.match(await page.locator('#notice').textContent(), notice, fragment.slice(0, 100));
    await page.waitForSelector('.surface[data-x]');
    assert.ok((await names(page)).length >= 1); // the usual view, or what could be read
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await close(page);
  }
});

test('the cursor is pinned by a click and released by Escape', async () => {
  const page = await open(process.cwd() + '/both.html');
  const over = await page.locator('.surface').first().locator('.u-over').boundingBox();
  await page.mouse.move(over.x + over.width / 2 - 2, over.y + 40);
  await page.mouse.down();
  await page.mouse.move(over.x + over.width / 2, over.y + 40); // a hand is not that still: no box, but a click
  await page.mouse.up();
  await page.mouse.move(5, 5);
  const t = Number(await page.locator('.surface').first().getAttribute('data-pin'));
  assert.ok(Math.abs(t - 1) < 0.01, String(t));
  const shown = await page.locator('.chip .value').first().textContent();
  assert.ok(Math.abs(Number(shown) - 2 - Math.sin(t)) < 1e-3, shown);
  assert.equal(await page.locator('.pin').count(), await page.locator('.plot').count());
  await page.locator('.surface').first().press('Escape');
  assert.equal(await page.locator('.chip .value').first().textContent(), '');
  assert.equal(await page.locator('.pin').count(), 0);
  await close(page);
});

test('a live page has links, and a changed view goes on in the page of the result', async () => {
  fs.writeFileSync('slow.c', `#include <couplet/model.h>
#include <unistd.h>
static const cpl_declaration x[] = {{"x", .start = 1, .unit = "m"}, {"y"}, {0}};
static int f(const cpl_values* v, double* dx) { usleep(500); dx[0] = -v->x[0]; dx[1] = 0.1; return 0; }
const cpl_model_def couplet_model = {.name = "slow", .states = x, .derivatives = f};
`);
  const watched = await begin('slow.c', '--solver', 'rk4', '--step', '0.01', '--stop-time', '1000', '--interval', '0.01', '-o', 'slow.csv');
  const page = await open(watched.url);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], {origin: new URL(watched.url).origin});
  await page.waitForSelector('.surface[data-x]');
  await page.locator('#expression').fill('der(x)/x');
  await page.locator('#expression').press('Enter');
  await page.locator('.plot').first().getByRole('button', {name: 'log y'}).click();
  await page.waitForFunction(() => Number(document.querySelector('.surface')?.dataset.x?.split(' ')[1]) > 0.3);
  const link = await copied(page);
  assert.ok(link.startsWith(watched.url + '#view='), link);
  const second = await open(link);
  await second.waitForSelector('.surface[data-x]');
  assert.ok((await names(second)).includes('der(x)/x [1/s]'), (await names(second)).join());
  await close(second);
  await page.locator('#stop').click();
  await page.waitForURL('**/result#view=*');
  await page.waitForSelector('.surface[data-x]');
  assert.equal(await page.locator('#run').isVisible(), false);
  assert.ok((await names(page)).includes('der(x)/x [1/s]'));
  assert.match(await page.locator('.surface').first().getAttribute('data-log'), /true/);
  await watched.ended;
  await close(page);
});

//------------------------------------ several results ------------------------------------

test('every variable of every result is found, and drawn of one or of all', async () => {
  const page = await open(process.cwd() + '/both.html');
  assert.equal(await page.title(), 'a.csv, b.csv');
  assert.equal(await page.locator('#title').textContent(), 'a.csv, b.csv');
  assert.equal(await page.locator('#found').textContent(), '4 variables');
  await page.locator('#search').fill('only');
  assert.deepEqual(await page.locator('.leaf').allTextContents(), ['left.onlya.csvV', 'right.onlyb.csvV']); // with the result that has it
  await page.locator('#search').fill('b.csv'); // by its result
  assert.deepEqual(await page.locator('.leaf input').evaluateAll(l => l.map(e => e.dataset.name)), ['plant.level', 'valve', 'right.only']);
  assert.match(await page.locator('.leaf').first().textContent(), /m, mm/); // units differ
  await page.locator('#search').fill('');
  await page.getByLabel('Result', {exact: true}).selectOption({label: 'only b.csv'});
  assert.equal(await page.locator('#found').textContent(), '3 variables');
  await page.locator('#search').fill('level');
  assert.equal(await page.locator('.leaf').textContent(), 'plant.levelmm'); // its own unit
  await page.locator('#search').fill('valve');
  const before = await names(page);
  await page.locator('.leaf input').check();
  assert.deepEqual(await names(page), [...before, 'valve (b.csv)']);
  await page.getByLabel('Result', {exact: true}).selectOption({label: 'all 2 results'});
  await page.locator('.leaf input').check(); // the other one, too
  assert.deepEqual((await names(page)).filter(n => n.startsWith('valve')).sort(), ['valve (a.csv)', 'valve (b.csv)']);
  await close(page);
  run('view', 'a.csv', 'b.csv', '-o', 'only.html', '--only', 'right.*');
  const only = await open(process.cwd() + '/only.html');
  assert.deepEqual(await names(only), ['right.only (b.csv) [V]']);
  await close(only);
});

test('marks of events say which results have them', async () => {
  run('view', 'a.csv', 'b.csv', '-o', 'valves.html', '--only', 'valve');
  const page = await open(process.cwd() + '/valves.html');
  await page.waitForSelector('.surface[data-x]');
  assert.equal(await page.locator('.surface').first().getAttribute('data-events'), '3');
  assert.equal(await page.locator('.surface').first().getAttribute('data-event-files'), 'a.csv, b.csv');
  const over = await page.locator('.surface').first().locator('.u-over').boundingBox();
  for (const [t, text] of [[0.5, 'event at 0.5 s in a.csv'], [1, 'event at 1 s in a.csv, b.csv'], [1.5, 'event at 1.5 s in b.csv']]) {
    await page.mouse.move(over.x + over.width * t / 2, over.y + 40);
    const at = await page.locator('.plot').first().locator('.time-at').last().textContent();
    assert.ok(at.endsWith(text), at);
  }
  await page.mouse.move(over.x + over.width * 0.4, over.y + 40);
  assert.doesNotMatch(await page.locator('.plot').first().locator('.time-at').last().textContent(), /event/);
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByLabel('Export').selectOption('svg')]);
  const svg = fs.readFileSync(await file.path(), 'utf8');
  for (const text of ['>a.csv<', '>a.csv, b.csv<', '>b.csv<']) assert.ok(svg.includes(text), text); // at the marks
  await close(page);
});
