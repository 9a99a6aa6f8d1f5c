// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A run that goes on: its rows come from the program that served this page, several times a second, until it ends; then
// the page of the whole result takes this one's place.

// numbers before the rows: epoch, first row, rows, columns, time, start, stop, seconds, events, state, rows there are
const HEAD = 11;

function duration(s) {
  if (!Number.isFinite(s)) return '?';
  s = Math.round(s);
  return s < 60 ? s + ' s' : s < 3600 ? Math.floor(s / 60) + ' min ' + s % 60 + ' s' : Math.floor(s / 3600) + ' h ' + Math.floor(s % 3600 / 60) + ' min';
}

function makeRoom(result, rows) {
  if (result.times && result.times.length >= rows) return;
  const size = Math.max(1024, 2 * rows);
  const larger = old => { const a = new Float64Array(size); if (old) a.set(old); return a; };
  result.times = larger(result.times);
  for (const c of result.columns) c.array = larger(c.array);
}

function takeRows(result, numbers) {
  const [, first, rows, columns] = numbers, width = columns + 1;
  makeRoom(result, first + rows);
  for (let i = 0; i < rows; i++) {
    const at = HEAD + i * width;
    result.times[first + i] = numbers[at];
    for (let c = 0; c < columns; c++) result.columns[c].array[first + i] = numbers[at + 1 + c];
  }
  result.rows = first + rows;
}

function showProgress(numbers) {
  const [,,,, t, start, stop, wall, events] = numbers, part = stop > start ? (t - start) / (stop - start) : 1;
  $('progress').value = part;
  $('progress-text').textContent = Math.floor(100 * part) + ' %, t = ' + short(t) + ' s, ' + short(+((t - start) / wall).toPrecision(3)) +
    ' times real time, ' + duration(wall * (1 - part) / part) + ' left, ' + events + (events === 1 ? ' event' : ' events');
}

async function startLive() {
  const result = results[0];
  app.live = true;
  makeRoom(result, 0);
  $('run').hidden = false;
  $('stop').addEventListener('click', () => { $('stop').disabled = true; fetch('stop', {method: 'POST'}).catch(() => {}); });
  const first = firstView();
  let epoch = 0, failures = 0;
  for (;;) {
    let more = false;
    try {
      const answer = await fetch('points?epoch=' + epoch + '&from=' + result.rows);
      if (answer.status === 403 || answer.status === 404) { // another program is there now
        $('progress-text').textContent = 'The program that simulates is gone; this is what came from it.';
        $('stop').hidden = true;
        return;
      }
      if (!answer.ok) throw new Error(answer.statusText);
      const numbers = new Float64Array(await answer.arrayBuffer());
      failures = 0;
      epoch = numbers[0];
      takeRows(result, numbers);
      showProgress(numbers);
      if (numbers[2] > 0) for (const p of app.plots) p.redraw();
      if (numbers[9] === 2) { // a view that was changed goes on in the page of the result
        const view = encodeView();
        location.replace('result' + (view !== first ? view : ''));
        return;
      }
      more = result.rows < numbers[10];
    } catch (e) { // the computer slept, a tunnel broke: it may come back
      if (++failures > 4)
        $('progress-text').textContent = 'No answer from the program that simulates (it may be gone); this is what came from it.';
    }
    if (!more) await pause(failures > 4 ? Math.min(5000, 200 * failures) : 200);
  }
}

// Ends early when the page is looked at again.
function pause(ms) {
  return new Promise(next => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', done);
      removeEventListener('online', done);
      next();
    }
    document.addEventListener('visibilitychange', done);
    addEventListener('online', done);
  });
}
