// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Marks at events: lines across the plot, with the dash and, where there are several, the names of the results that have the event.
// Where there are many, a row of short marks per result at the upper edge.

const MANY_EVENTS = 60, EVENT_FONT = 10, SAME_MARK = 3; // marks, pixels, pixels

// The events in view: [{t, results}], in order.
function eventsInView(plot) {
  if (!app.events || plot.kind !== 'time') return [];
  const [from, until] = plot.rangeX(), marks = new Map();
  for (const result of new Set(plot.drawn.flatMap(c => c.sources))) {
    for (const t of result.events) {
      if (t < from || t > until) continue;
      if (!marks.has(t)) marks.set(t, []);
      marks.get(t).push(result);
    }
  }
  return [...marks].map(([t, of]) => ({t, results: of})).sort((a, b) => a.t - b.t);
}

// What to draw, in pixels of the page from the upper left of the area of curves: {lines: [{x, y, height, dash}], texts: [{x, y, text}]}.
function eventShapes(plot, place, width, height, measure) {
  const marks = eventsInView(plot), lines = [], texts = [], several = results.length > 1;
  const used = results.filter(r => marks.some(m => m.results.includes(r)));
  if (marks.length > MANY_EVENTS) {
    const lane = several ? EVENT_FONT + 2 : 8;
    for (const [row, result] of used.entries()) {
      let last = NaN;
      for (const m of marks) {
        const x = Math.round(place(m.t));
        if (x !== last && m.results.includes(result)) lines.push({x: last = x, y: row * lane, height: several ? 6 : lane, dash: []});
      }
      if (several) texts.push({x: 3, y: row * lane + EVENT_FONT - 2, text: 'events of ' + result.name, covers: true});
    }
    return {lines, texts};
  }
  for (const m of marks) {
    const dash = m.results.length > 1 || m.results[0].index === 0 ? [3, 4] : dashOfResult(m.results[0]);
    lines.push({x: Math.round(place(m.t)), y: 0, height, dash});
  }
  for (let i = 0; several && i < marks.length;) { // marks that nearly coincide have one text
    const x = place(marks[i].t), of = new Set();
    for (; i < marks.length && place(marks[i].t) - x <= SAME_MARK; i++) marks[i].results.forEach(r => of.add(r));
    const text = results.filter(r => of.has(r)).map(r => r.name).join(', '), next = i < marks.length ? place(marks[i].t) : width;
    if (x + 8 + measure(text) <= next) texts.push({x: Math.round(x) + SAME_MARK + 2, y: EVENT_FONT, text});
  }
  return {lines, texts};
}

function drawEvents(plot, u) {
  const {left, top, width, height} = u.bbox, ctx = u.ctx, ratio = devicePixelRatio;
  ctx.save();
  ctx.font = EVENT_FONT * ratio + 'px system-ui, "DejaVu Sans", sans-serif';
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  ctx.strokeStyle = css('--axis');
  ctx.lineWidth = ratio;
  const {lines, texts} = eventShapes(plot, t => u.valToPos(t, 'x'), width / ratio, height / ratio, text => ctx.measureText(text).width / ratio);
  for (const line of lines) {
    ctx.setLineDash(line.dash.map(d => d * ratio));
    ctx.beginPath();
    const x = Math.round(left + line.x * ratio) + 0.5;
    ctx.moveTo(x, top + line.y * ratio);
    ctx.lineTo(x, top + (line.y + line.height) * ratio);
    ctx.stroke();
  }
  for (const {x, y, text, covers} of texts) {
    if (covers) {
      ctx.fillStyle = css('--bg');
      ctx.fillRect(left + x * ratio - 2, top + (y - EVENT_FONT + 2) * ratio, ctx.measureText(text).width + 4, EVENT_FONT * ratio);
    }
    ctx.fillStyle = css('--dim');
    ctx.fillText(text, left + x * ratio, top + y * ratio);
  }
  ctx.restore();
}
