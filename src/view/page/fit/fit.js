// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The page of a fit: tables of the parameters, and for each measured variable the data with the fit, and the residuals below.

const fit = JSON.parse($('data').textContent);
const LEFT = 70, RIGHT = 14, TOP = 8, UPPER = 210, GAP = 26, LOWER = 100, BOTTOM = 34;
const HEIGHT = TOP + UPPER + GAP + LOWER + BOTTOM;

function svg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const extent = values => {
  let low = Infinity, high = -Infinity;
  for (const v of values) if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); }
  return padded(low, high);
};

// A scale with its ticks, lines and texts.
function axis(range, most) {
  const step = niceStep((range[1] - range[0]) / most), ticks = multiples(range[0], range[1], step);
  return {scale: new Scale(range[0], range[1], false), ticks, texts: tickTexts(ticks, step)};
}

class Panel {
  constructor(column, index) {
    Object.assign(this, {column, index, at: -1});
    this.residuals = column.measured.map((v, i) => column.fitted[i] === null ? null : v - column.fitted[i]);
    const unit = column.unit ? ' [' + column.unit + ']' : '', of = fit.data.length > 1 ? ', ' + fit.data[column.data] : '';
    this.drawing = svg('svg', {role: 'img', tabindex: 0, 'aria-label': column.name + ': data, fit and residuals; arrow keys go from point to point'});
    this.readout = make('p', {className: 'readout', role: 'status'});
    this.element = make('section', {className: 'plot panel'}, make('h2', {}, column.name + unit + of),
      make('div', {}, make('span', {className: 'key'}), 'measured', make('span', {className: 'key line'}), ' fitted; below: measured less fitted, and two standard deviations'),
      this.drawing, this.readout);
    this.drawing.addEventListener('pointermove', e => this.point(e));
    this.drawing.addEventListener('pointerleave', () => this.show(-1));
    this.drawing.addEventListener('keydown', e => this.key(e));
  }

  x(t) { return LEFT + this.time.scale.part(t) * (this.width - LEFT - RIGHT); }
  y(chart, v) { return chart.top + (1 - chart.axis.scale.part(v)) * chart.height; }

  chart(top, height, range) {
    const chart = {top, height, axis: axis(range, Math.max(2, height / 45))};
    for (const [i, v] of chart.axis.ticks.entries()) {
      const y = this.y(chart, v);
      this.drawing.append(svg('line', {class: 'grid', x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y}),
        svg('text', {class: 'tick', x: LEFT - 6, y: y + 4, 'text-anchor': 'end'}, chart.axis.texts[i]));
    }
    return chart;
  }

  draw() {
    const c = this.column, n = c.time.length;
    this.width = Math.max(320, this.element.clientWidth - 22);
    this.drawing.setAttribute('viewBox', `0 0 ${this.width} ${HEIGHT}`);
    this.drawing.replaceChildren();
    this.time = axis(extent(c.time), Math.max(2, this.width / 110));
    const spread = Math.max(...c.sigma) * 2;
    this.upper = this.chart(TOP, UPPER, extent([...c.measured, ...c.fitted]));
    this.lower = this.chart(TOP + UPPER + GAP, LOWER, extent([...this.residuals, spread, -spread]));
    for (const [i, t] of this.time.ticks.entries())
      this.drawing.append(svg('text', {class: 'tick', x: this.x(t), y: HEIGHT - BOTTOM + 18, 'text-anchor': 'middle'}, this.time.texts[i]));
    this.drawing.append(svg('text', {class: 'tick', x: this.width - RIGHT, y: HEIGHT - 4, 'text-anchor': 'end'}, 'time [s]'));
    const places = (chart, values) => values.map((v, i) => v === null ? null : [this.x(c.time[i]), this.y(chart, v)]);
    const path = list => 'M' + list.filter(p => p !== null).map(p => p.map(v => v.toFixed(2)).join(' ')).join('L');
    const band = [...c.time.map((t, i) => [this.x(t), this.y(this.lower, 2 * c.sigma[i])]),
      ...c.time.map((t, i) => [this.x(t), this.y(this.lower, -2 * c.sigma[i])]).reverse()];
    this.drawing.append(svg('path', {class: 'band', d: path(band) + 'Z'}));
    const zero = this.y(this.lower, 0);
    this.drawing.append(svg('line', {class: 'zero', x1: LEFT, x2: this.width - RIGHT, y1: zero, y2: zero}));
    const radius = n > 400 ? 1.4 : n > 100 ? 2 : 3;
    const dots = list => svg('g', {class: 'measured'}, ...list.filter(p => p !== null).map(p => svg('circle', {cx: p[0].toFixed(2), cy: p[1].toFixed(2), r: radius})));
    this.drawing.append(dots(places(this.upper, c.measured)), dots(places(this.lower, this.residuals)));
    if (c.fitted.some(v => v !== null)) this.drawing.append(svg('path', {class: 'fitted', d: path(places(this.upper, c.fitted))}));
    for (const chart of [this.upper, this.lower])
      this.drawing.append(svg('rect', {class: 'frame', x: LEFT, y: chart.top, width: this.width - LEFT - RIGHT, height: chart.height}));
    this.cursor = svg('line', {class: 'cursor', y1: TOP, y2: HEIGHT - BOTTOM, visibility: 'hidden'});
    this.drawing.append(this.cursor);
    this.show(this.at);
  }

  show(i) {
    const c = this.column;
    this.at = i;
    this.cursor.setAttribute('visibility', i < 0 ? 'hidden' : 'visible');
    if (i < 0) { this.readout.textContent = ''; return; }
    const x = this.x(c.time[i]);
    this.cursor.setAttribute('x1', x);
    this.cursor.setAttribute('x2', x);
    this.readout.textContent = `time ${short(c.time[i])} s, measured ${short(c.measured[i])}, fitted ${short(c.fitted[i] ?? NaN)}, ` +
      `residual ${short(this.residuals[i] ?? NaN)}, standard deviation ${short(c.sigma[i])}`;
  }

  point(event) {
    const box = this.drawing.getBoundingClientRect(), x = (event.clientX - box.left) * this.width / box.width;
    let best = 0;
    this.column.time.forEach((t, i) => { if (Math.abs(this.x(t) - x) < Math.abs(this.x(this.column.time[best]) - x)) best = i; });
    this.show(best);
  }

  key(event) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    this.show(Math.min(this.column.time.length - 1, Math.max(0, this.at + step)));
  }
}

$('title').textContent = fit.title;
for (const part of fit.report) $('report').append(reportSection(part));
const panels = fit.columns.map((column, i) => new Panel(column, i));
for (const panel of panels) $('panels').append(panel.element);
const drawAll = () => { for (const panel of panels) panel.draw(); };
followTheme(drawAll);
addEventListener('resize', drawAll);
document.documentElement.dataset.panels = String(panels.length);
