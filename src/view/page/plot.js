// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A plot: curves over time, or over another variable (phase). uPlot has the axes, the canvas, the cursor and the box to zoom
// with; ranges, lines and values come from here, since every result has times of its own.

const COLOURS = 8;
const MANY_EVENTS = 60; // more of them are marked at the upper edge only
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colourOf = curve => css('--c' + (curve.colour % COLOURS));
const dashOf = curve => curve.difference ? [2, 3] : curve.result.index === 0 ? [] : curve.result.index % 2 ? [7, 4] : [11, 3, 3, 3];

function padded(low, high) {
  if (!(low <= high)) return [0, 1];
  low = Math.max(low, -8e307); high = Math.min(high, 8e307);
  const size = Math.max(Math.abs(low), Math.abs(high)), width = high - low;
  if (width <= 1e-12 * size || width === 0) { const half = size > 0 ? size / 2 : 1; return [low - half, high + half]; }
  return [low - 0.05 * width, high + 0.05 * width];
}

const short = v => v === undefined || Number.isNaN(v) ? '–' : Math.abs(v) >= 1e6 || (v !== 0 && Math.abs(v) < 1e-4) ? v.toExponential(4)
  : String(+v.toPrecision(6));

class Plot {
  constructor(kind) {
    Object.assign(this, {kind, curves: [], across: '', axes: 'unit', x: null, y: {}, inView: false, stale: false});
    this.build();
  }

  get phase() { return this.kind === 'phase'; }
  acrossOf(curve) { return curve.result.byName.get(this.across)?.values; }
  keyOf(curve) {
    if (this.axes === 'one') return 'y';
    if (this.axes === 'each') return 'k' + curve.key;
    return (curve.difference ? 'd:' : 'u:') + curve.unit;
  }
  get drawn() { return this.curves.filter(c => c.visible && (!this.phase || this.acrossOf(c))); }

  //------------------------------------ ranges ------------------------------------

  fullX() {
    let low = Infinity, high = -Infinity;
    for (const c of this.drawn) {
      if (c.rows === 0) continue;
      const [a, b] = this.phase ? new Curve(c.result.byName.get(this.across)).extremes.of(0, c.rows) : [c.time[0], c.time[c.rows - 1]];
      low = Math.min(low, a); high = Math.max(high, b);
    }
    if (!this.phase && low < high) return app.live ? [low, Math.max(high, low + 1e-9)] : [low, high];
    return padded(low, high);
  }
  rangeX() { return this.x ?? (this.phase ? this.planeRange('x') : this.fullX()); }
  fullY(key) {
    const [from, until] = this.phase ? [] : this.rangeX();
    let low = Infinity, high = -Infinity;
    for (const c of this.drawn) {
      if (this.keyOf(c) !== key) continue;
      const first = this.phase ? 0 : Math.max(0, rowAt(c.time, c.rows, from, false) - 1);
      const last = this.phase ? c.rows : Math.min(c.rows, rowAt(c.time, c.rows, until, true) + 1);
      const [a, b] = c.extremes.of(first, last);
      low = Math.min(low, a); high = Math.max(high, b);
    }
    return padded(low, high);
  }
  rangeY(key) { return this.y[key] ?? (this.phase ? this.planeRange(key) : this.fullY(key)); }

  // Two columns of one unit are drawn to the same scale: a circle stays round.
  planeRange(which) {
    const across = this.drawn[0]?.result.byName.get(this.across);
    const same = this.drawn.length > 0 && across.unit && this.drawn.every(c => c.unit === across.unit && this.keyOf(c) === this.keyOf(this.drawn[0]));
    if (!same) return which === 'x' ? this.fullX() : this.fullY(which);
    const x = this.fullX(), y = this.fullY(this.keyOf(this.drawn[0]));
    const box = this.u?.bbox ?? {width: 3, height: 2};
    const wide = (x[1] - x[0]) / box.width, high = (y[1] - y[0]) / box.height;
    const widen = (r, half) => { const m = (r[0] + r[1]) / 2; return [m - half, m + half]; };
    if (which === 'x') return wide < high ? widen(x, high * box.width / 2) : x;
    return wide < high ? y : widen(y, wide * box.height / 2);
  }

  //------------------------------------ the parts of the page ------------------------------------

  build() {
    this.chips = make('div', {className: 'chips'});
    this.tools = make('div', {className: 'tools'});
    this.surface = make('div', {className: 'surface', tabIndex: 0, role: 'application'});
    this.surface.setAttribute('aria-label', this.phase ? 'Phase plot' : 'Plot over time');
    this.at = make('div', {className: 'time-at'});
    this.element = make('section', {className: 'plot'}, make('div', {className: 'bar'}, this.chips, this.tools), this.surface, this.at);
    this.element.addEventListener('pointerdown', () => app.activate(this));
    this.element.addEventListener('focusin', () => app.activate(this));
    bindGestures(this);
    bindKeys(this);
    new ResizeObserver(() => this.resize()).observe(this.surface);
    new IntersectionObserver(([entry]) => this.cameIntoView(entry.isIntersecting), {rootMargin: '150px'}).observe(this.surface);
  }

  select(label, options, value, change) {
    const select = make('select', {onchange: () => change(select.value)});
    select.setAttribute('aria-label', label);
    for (const [key, text] of options) select.append(make('option', {value: key}, text));
    select.value = value;
    return select;
  }

  fillTools() {
    const parts = [];
    if (this.phase) {
      parts.push(this.select('Variable across', [['', 'across: choose'], ...[...variables.keys()].map(n => [n, 'across: ' + n])], this.across,
        name => { this.across = name; this.x = null; this.y = {}; this.show(); }));
    }
    parts.push(this.select('Axes', [['unit', 'axis per unit'], ['one', 'one axis'], ['each', 'axis each']], this.axes,
      axes => { this.axes = axes; this.y = {}; this.show(); }));
    if (results.length > 1 && !this.phase) {
      const on = this.curves.some(c => c.difference);
      parts.push(make('button', {ariaPressed: String(on), onclick: () => this.toggleDifference()}, on ? 'No difference' : 'Difference'));
    }
    parts.push(this.select('Export', [['', 'Export'], ['svg', 'picture (SVG)'], ['png', 'picture (PNG)'], ['csv', 'shown data (CSV)']], '',
      what => { if (what) exportPlot(this, what); this.tools.querySelector('[aria-label=Export]').value = ''; }));
    parts.push(make('button', {onclick: () => app.remove(this), ariaLabel: 'Remove plot'}, '✕'));
    this.tools.replaceChildren(...parts);
  }

  fillChips() {
    this.chips.replaceChildren(...this.curves.map(c => {
      const line = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      path.setAttribute('d', 'M0 4H20');
      path.setAttribute('stroke', colourOf(c));
      path.setAttribute('stroke-width', '2.5');
      path.setAttribute('stroke-dasharray', dashOf(c).join(' '));
      line.setAttribute('aria-hidden', 'true');
      line.append(path);
      c.value = make('span', {className: 'value'});
      const name = make('button', {title: 'Hide or show', className: c.visible ? '' : 'hidden', ariaPressed: String(c.visible),
        onclick: () => { c.visible = !c.visible; this.show(); }}, c.label);
      return make('span', {className: 'chip'}, line, name, c.value,
        make('button', {className: 'drop', ariaLabel: 'Remove ' + c.name, onclick: () => this.drop(c)}, '✕'));
    }));
    if (this.curves.length === 0) this.chips.append(make('span', {className: 'time-at'}, 'Tick a variable on the left to draw it here.'));
  }

  //------------------------------------ what is drawn ------------------------------------

  has(name) { return this.curves.some(c => c.column.name === name); }
  add(name) {
    if (this.has(name)) return;
    const used = new Set(this.curves.map(c => c.colour));
    let colour = 0;
    while (used.has(colour)) colour++;
    const differences = this.curves.some(c => c.difference);
    for (const column of variables.get(name)) this.curves.push(Object.assign(new Curve(column), {colour}));
    if (differences) this.addDifferences();
  }
  remove(name) { this.curves = this.curves.filter(c => c.column.name !== name); }
  drop(curve) { this.curves = this.curves.filter(c => c !== curve); this.show(); tree.mark(); this.surface.focus(); }
  addDifferences() {
    for (const c of [...this.curves]) {
      const known = this.curves.some(d => d.difference && d.column === c.column);
      if (c.difference || known || c.result.index === 0 || !results[0].byName.has(c.column.name)) continue;
      this.curves.push(Object.assign(new Curve(c.column, true), {colour: c.colour + 1}));
    }
  }
  toggleDifference() {
    if (this.curves.some(c => c.difference)) this.curves = this.curves.filter(c => !c.difference);
    else this.addDifferences();
    this.show();
  }

  // Anew: curves, axes or colours are others. What is out of sight is drawn when it comes into view.
  show() {
    this.fillTools();
    this.fillChips();
    this.u?.destroy();
    this.u = null;
    if (this.inView && this.surface.clientWidth > 0) this.u = this.makeChart();
    this.surface.style.minHeight = this.height + 'px';
    this.values(null);
  }
  redraw() {
    this.stale = !this.inView;
    if (this.inView) this.u?.redraw(true, true);
    this.values(this.shown ?? null);
  }
  cameIntoView(inView) {
    this.inView = inView;
    if (inView && !this.u) this.show();
    else if (inView && this.stale) this.redraw();
  }
  get height() { return this.phase ? Math.min(460, Math.max(260, this.surface.clientWidth * 0.6)) : innerWidth < 760 ? 220 : 260; }
  resize() {
    if (!this.u) { this.show(); return; }
    if (this.u.width !== this.surface.clientWidth) this.u.setSize({width: this.surface.clientWidth, height: this.height});
  }

  scaleKeys() { return [...new Set(this.drawn.map(c => this.keyOf(c)))]; }
  axisText(key) {
    const curves = this.drawn.filter(c => this.keyOf(c) === key);
    const units = [...new Set(curves.map(c => c.unit))].filter(u => u).join(', ');
    if (curves.length === 1) return curves[0].axisLabel;
    return (curves.every(c => c.difference) ? 'Δ ' : '') + (units ? '[' + units + ']' : '');
  }
  axisX() {
    if (!this.phase) return 'time [s]';
    const column = this.drawn[0]?.result.byName.get(this.across);
    return column ? new Curve(column).label : this.across;
  }

  makeChart() {
    const keys = this.scaleKeys(), ink = () => css('--dim'), lines = {stroke: () => css('--grid'), width: 1};
    const ticks = {stroke: () => css('--axis'), width: 1, size: 5}, font = '12px system-ui, "DejaVu Sans", sans-serif';
    const scales = {x: {time: false, range: () => this.rangeX()}};
    const clip = text => text.length > 40 ? text.slice(0, 39) + '…' : text;
    const axes = [{label: clip(this.axisX()), labelSize: 18, size: 28, stroke: ink, grid: lines, ticks, font, labelFont: font, labelGap: 2,
      values: (u, splits) => splits.map(short)}];
    const size = (u, values) => 14 + 7 * Math.max(3, ...(values ?? []).map(v => v.length));
    keys.slice(0, 6).forEach((key, i) => {
      const own = this.drawn.filter(c => this.keyOf(c) === key);
      axes.push({scale: key, side: i % 2 ? 1 : 3, label: clip(this.axisText(key)), labelSize: 20, labelGap: 0, size, font, labelFont: font, ticks,
        stroke: keys.length > 1 && own.length === 1 ? () => colourOf(own[0]) : ink, grid: i === 0 ? lines : {show: false},
        values: (u, splits) => splits.map(short)});
    });
    for (const key of keys) scales[key] = {range: () => this.rangeY(key)};
    if (keys.length === 0) { scales.y = {range: [0, 1]}; axes.push({scale: 'y', stroke: ink, grid: lines, ticks, font}); }
    const series = [{}, ...this.drawn.map(c => ({scale: this.keyOf(c), auto: false,
      points: {show: false}, paths: () => null}))];
    const chart = new uPlot({width: this.surface.clientWidth, height: this.height, scales, axes, series, legend: {show: false}, padding: [8, 18, 0, 4],
      cursor: {y: this.phase, points: {show: false}, drag: {x: true, y: true, uni: 30, setScale: false},
        bind: {mousedown: (u, t, handle) => e => { if (e.button === 0 && !e.shiftKey) handle(e); }, dblclick: () => () => app.resetZoom(this)}},
      hooks: {setSelect: [u => this.selected(u)], setCursor: [u => this.pointed(u)], drawAxes: [u => this.drawEvents(u)], draw: [u => this.drawCurves(u), u => this.tell(u)]}},
      [[0, 1], ...this.drawn.map(() => [0, 0])], this.surface);
    return chart;
  }

  // What is in view, for tests and for scripts of users.
  tell(u) {
    const range = key => [u.scales[key].min, u.scales[key].max];
    this.surface.dataset.x = range('x').join(' ');
    this.surface.dataset.y = this.scaleKeys().map(key => range(key).join(' ')).join(';');
    this.surface.dataset.events = this.visibleEvents().length;
  }

  transform(u, key) {
    const {left, top, width, height} = u.bbox, x = u.scales.x, y = u.scales[key];
    const fx = width / (x.max - x.min), fy = height / (y.max - y.min), limit = 20 * height;
    return {x: t => left + (t - x.min) * fx, y: v => top + Math.min(limit, Math.max(-limit, (y.max - v) * fy)),
      left, right: left + width, from: x.min, until: x.max};
  }
  trace(pen, curve, to) {
    if (this.phase) traceOver(pen, this.acrossOf(curve), curve, to);
    else traceOverTime(pen, curve, to);
  }
  drawCurves(u) {
    const {left, top, width, height} = u.bbox, ctx = u.ctx, area = new Path2D();
    area.rect(left, top, width, height);
    ctx.save();
    ctx.clip(area);
    ctx.lineJoin = 'round';
    ctx.lineWidth = 1.6 * devicePixelRatio;
    for (const c of this.drawn) {
      const pen = new Path2D(), to = this.transform(u, this.keyOf(c));
      ctx.strokeStyle = ctx.fillStyle = colourOf(c);
      if (!this.phase && isDense(c, to)) {
        ctx.globalAlpha = c.result.index === 0 ? 1 : 0.6;
        outlineOverTime(pen, c, to, ctx.lineWidth);
        ctx.fill(pen);
        ctx.globalAlpha = 1;
      } else {
        this.trace(pen, c, to);
        ctx.setLineDash(dashOf(c).map(d => d * devicePixelRatio));
        ctx.stroke(pen);
      }
    }
    ctx.restore();
  }

  // The times of events in view.
  visibleEvents() {
    if (!app.events || this.phase) return [];
    const [from, until] = this.rangeX();
    const marks = [...new Set(this.drawn.map(c => c.result))].flatMap(r => r.events).filter(t => t >= from && t <= until);
    return [...new Set(marks)];
  }
  drawEvents(u) {
    const {top, height} = u.bbox, ctx = u.ctx;
    ctx.save();
    ctx.strokeStyle = css('--axis');
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 4 * devicePixelRatio]);
    const marks = this.visibleEvents();
    if (marks.length > MANY_EVENTS) ctx.setLineDash([]);
    ctx.beginPath();
    let last = NaN;
    for (const t of marks) {
      const x = Math.round(u.valToPos(t, 'x', true)) + 0.5;
      if (x === last) continue;
      ctx.moveTo(x, top); ctx.lineTo(x, top + (marks.length > MANY_EVENTS ? 8 * devicePixelRatio : height));
      last = x;
    }
    ctx.stroke();
    ctx.restore();
  }

  //------------------------------------ zoom, pan, cursor ------------------------------------

  selected(u) {
    const {left, top, width, height} = u.select;
    if (width < 4 && height < 4) return;
    const y = {};
    if (height >= 4 && height < u.over.clientHeight - 1) {
      for (const key of this.scaleKeys()) y[key] = [u.posToVal(top + height, key), u.posToVal(top, key)];
    }
    const x = width >= 4 && width < u.over.clientWidth - 1 ? [u.posToVal(left, 'x'), u.posToVal(left + width, 'x')] : this.rangeX();
    u.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
    app.setRange(this, x, y);
  }
  // Zoom by a factor around a place from 0 to 1 and move by parts of the width.
  zoomX(factor, around, move) {
    const [from, until] = this.rangeX(), width = until - from, at = from + around * width;
    const next = [at - (at - from) * factor + move * width, at + (until - at) * factor + move * width];
    if (next[1] - next[0] > 1e-13 * Math.max(Math.abs(next[0]), Math.abs(next[1]))) app.setRange(this, next, null);
  }
  zoomY(factor, around, move) {
    for (const key of this.scaleKeys()) {
      const [from, until] = this.rangeY(key), width = until - from, at = from + around * width;
      this.y[key] = [at - (at - from) * factor + move * width, at + (until - at) * factor + move * width];
    }
    this.redraw();
  }
  reset() { this.x = null; this.y = {}; this.redraw(); }

  pointed(u) {
    if (u.cursor.event == null || u.cursor.left < 0) { if (!this.keyed) app.point(this, null); return; }
    if (this.phase) this.pointPlane(u); else app.point(this, u.posToVal(u.cursor.left, 'x'));
  }
  // Values at a time (null: none), in the chips and below.
  values(t) {
    this.shown = t;
    if (this.phase) return;
    for (const c of this.curves) c.value.textContent = t === null ? '' : short(valueAt(c.time, c.values, c.rows, t, false));
    this.at.textContent = t === null ? '' : 'time = ' + short(t) + ' s';
  }
  follow(t) {
    if (this.phase) return;
    if (this.u) this.u.setCursor(t === null ? {left: -10, top: -10} : {left: this.u.valToPos(t, 'x'), top: 0}, false);
    this.values(t);
  }
  pointPlane(u) {
    let best = Infinity, found = null;
    for (const c of this.drawn) {
      const to = this.transform(u, this.keyOf(c)), across = this.acrossOf(c), scale = devicePixelRatio;
      const x = u.cursor.left * scale + u.bbox.left, y = u.cursor.top * scale + u.bbox.top;
      for (let i = 0; i < c.rows; i++) {
        const d = (to.x(across[i]) - x) ** 2 + (to.y(c.values[i]) - y) ** 2;
        if (d < best) { best = d; found = [c, i]; }
      }
    }
    for (const c of this.curves) c.value.textContent = found && c === found[0] ? short(c.values[found[1]]) : '';
    this.at.textContent = found ? this.across + ' = ' + short(this.acrossOf(found[0])[found[1]]) + ', time = ' + short(found[0].time[found[1]]) + ' s' : '';
  }
}
