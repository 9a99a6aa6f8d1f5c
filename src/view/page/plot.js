// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A plot: curves over time, their spectra over frequency, or curves over another variable (phase). uPlot has the axes, the canvas, the
// cursor and the box to zoom with; ranges, lines and values come from here, since every result has times of its own.

const PLOT_KINDS = {time: 'Plot over time', phase: 'Phase plot', spectrum: 'Spectrum'};
const FONT = '12px system-ui, "DejaVu Sans", sans-serif';

class Plot {
  constructor(kind) {
    Object.assign(this, {kind, curves: [], across: '', axes: 'unit', log: {x: false, y: false}, window: 'hann', span: null, x: null, y: {},
      inView: false, stale: false, shown: null, margins: {left: 0, right: 0}});
    this.build();
  }

  get phase() { return this.kind === 'phase'; }
  get spectral() { return this.kind === 'spectrum'; }
  get unitX() { return this.spectral ? 'Hz' : 's'; }
  get nameX() { return this.spectral ? 'frequency' : 'time'; }
  acrossColumn(curve) { return curve.derived ? null : curve.result.byName.get(this.across) ?? null; }
  keyOf(curve) {
    if (this.axes === 'one') return 'y';
    if (this.axes === 'each') return 'k' + curve.key;
    return (curve.difference ? 'd:' : 'u:') + curve.unit;
  }
  get drawn() { return this.curves.filter(c => c.visible && (!this.phase || this.acrossColumn(c))); }

  // What is drawn of a curve: itself or its spectrum; on a logarithmic axis without the values that have no place there.
  baseOf(curve) { return this.spectral ? spectrumOf(curve, this.span, this.window) : curve; }
  lineOf(curve) { return this.logY(this.keyOf(curve)) ? this.baseOf(curve).positive : this.baseOf(curve); }
  acrossLine(curve) { const column = this.acrossColumn(curve); return column.line ??= new Curve(column); }
  acrossOf(curve) { return this.logX ? this.acrossLine(curve).positive : this.acrossLine(curve); }

  //------------------------------------ ranges ------------------------------------

  // An axis is logarithmic where that was chosen and something is above zero.
  get logX() { return this.log.x && this.smallestX() < Infinity; }
  logY(key) {
    return this.log.y && this.drawn.some(c => {
      const line = this.keyOf(c) === key ? this.baseOf(c) : null;
      return line !== null && line.extremes.of(0, line.rows)[1] > 0;
    });
  }
  smallestX() {
    let low = Infinity;
    for (const c of this.drawn) {
      if (this.phase) low = Math.min(low, this.acrossLine(c).positive.extremes.of(0, c.rows)[0]);
      else {
        const {time, rows} = this.baseOf(c), i = rowAt(time, rows, 0, true);
        if (i < rows) low = Math.min(low, time[i]);
      }
    }
    return low;
  }
  fullX() {
    let low = Infinity, high = -Infinity;
    for (const c of this.drawn) {
      const line = this.baseOf(c);
      if (line.rows === 0) continue;
      const [a, b] = this.phase ? this.acrossOf(c).extremes.of(0, c.rows) : [line.time[0], line.time[line.rows - 1]];
      low = Math.min(low, a); high = Math.max(high, b);
    }
    if (this.logX) {
      if (this.phase) return paddedLog(low, high);
      const smallest = this.smallestX();
      return smallest < high ? [smallest, high] : paddedLog(high, high);
    }
    if (!this.phase && low < high) return app.live && !this.spectral ? [low, Math.max(high, low + 1e-9)] : [low, high];
    return padded(low, high);
  }
  rangeX() {
    if (this.x === null) return this.phase ? this.planeRange('x') : this.fullX();
    if (!this.logX || this.x[0] > 0) return this.x;
    const low = this.smallestX();
    return low < this.x[1] ? [low, this.x[1]] : this.fullX();
  }
  fullY(key) {
    const [from, until] = this.phase ? [] : this.rangeX();
    let low = Infinity, high = -Infinity;
    for (const c of this.drawn) {
      if (this.keyOf(c) !== key) continue;
      const line = this.lineOf(c);
      const first = this.phase ? 0 : Math.max(0, rowAt(line.time, line.rows, from, false) - 1);
      const last = this.phase ? line.rows : Math.min(line.rows, rowAt(line.time, line.rows, until, true) + 1);
      const [a, b] = line.extremes.of(first, last);
      low = Math.min(low, a); high = Math.max(high, b);
    }
    return this.logY(key) ? paddedLog(low, high) : padded(low, high);
  }
  rangeY(key) { return this.y[key] ?? (this.phase ? this.planeRange(key) : this.fullY(key)); }

  // Two columns of one unit are drawn to the same scale: a circle stays round.
  planeRange(which) {
    const drawn = this.drawn, across = drawn.length > 0 ? this.acrossColumn(drawn[0]) : null, key = across ? this.keyOf(drawn[0]) : '';
    const same = across && across.unit && drawn.every(c => c.unit === across.unit && this.keyOf(c) === key) && !this.logX && !this.logY(key);
    if (!same) return which === 'x' ? this.fullX() : this.fullY(which);
    const x = this.fullX(), y = this.fullY(key);
    const box = this.u?.bbox ?? {width: 3, height: 2};
    const wide = (x[1] - x[0]) / box.width, high = (y[1] - y[0]) / box.height;
    const widen = (r, half) => { const m = (r[0] + r[1]) / 2; return [m - half, m + half]; };
    if (which === 'x') return wide < high ? widen(x, high * box.width / 2) : x;
    return wide < high ? y : widen(y, wide * box.height / 2);
  }

  //------------------------------------ what is drawn ------------------------------------

  has(name, result) { return this.curves.some(c => c.column?.name === name && !c.difference && c.result === result); }
  // The columns of a name, of one result or of all.
  add(name, result) {
    const columns = variables.get(name).filter(c => (!result || c.result === result) && !this.has(name, c.result));
    const colour = this.curves.find(c => c.column?.name === name)?.colour ?? freeColour(this.curves);
    const differences = this.curves.some(c => c.difference);
    for (const column of columns) this.curves.push(Object.assign(new Curve(column), {colour}));
    if (differences) this.addDifferences();
  }
  remove(name, result) { this.curves = this.curves.filter(c => c.column?.name !== name || (result && c.result !== result)); }
  addCurves(curves) {
    const colour = freeColour(this.curves);
    for (const c of curves) if (!this.curves.some(d => d.key === c.key)) this.curves.push(Object.assign(c, {colour}));
  }
  drop(curve) { this.curves = this.curves.filter(c => c !== curve); this.show(); tree.mark(); this.surface.focus(); }
  addDifferences() {
    for (const c of [...this.curves]) {
      const known = this.curves.some(d => d.difference && d.column === c.column);
      if (c.difference || c.derived || known || c.result.index === 0 || !results[0].byName.has(c.column.name)) continue;
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
    app.layout();
    if (this.inView && this.surface.clientWidth > 0) this.u = this.makeChart();
    this.values(null);
    this.showPin();
  }
  redraw() {
    this.stale = !this.inView;
    if (this.inView && this.u && this.madeLog !== this.logs()) { this.show(); return; }
    if (this.inView) this.u?.redraw(true, true);
    this.values(this.shown);
  }
  cameIntoView(inView) {
    this.inView = inView;
    if (inView && !this.u) this.show();
    else if (inView && this.stale) this.redraw();
  }
  // app.layout() has set the height.
  resize() {
    if (!this.u) { if (this.inView && this.surface.clientWidth > 0) this.show(); return; }
    const width = this.surface.clientWidth;
    if (width > 0 && (this.u.width !== width || this.u.height !== this.height)) this.u.setSize({width, height: this.height});
  }

  //------------------------------------ the chart ------------------------------------

  scaleKeys() { return [...new Set(this.drawn.map(c => this.keyOf(c)))]; }
  logs() { return [this.logX, ...this.scaleKeys().map(key => this.logY(key))].join(); }
  axisText(key) {
    const curves = this.drawn.filter(c => this.keyOf(c) === key), before = this.spectral ? 'amplitude of ' : '';
    const units = [...new Set(curves.map(c => c.unit))].filter(u => u).join(', ');
    if (curves.length === 1) return before + curves[0].axisLabel;
    return (this.spectral ? 'amplitude ' : curves.every(c => c.difference) ? 'Δ ' : '') + (units ? '[' + units + ']' : '');
  }
  axisX() {
    if (!this.phase) return this.nameX + ' [' + this.unitX + ']';
    const column = this.drawn.length > 0 ? this.acrossColumn(this.drawn[0]) : null;
    return column ? column.name + (column.unit ? ' [' + column.unit + ']' : '') : this.across;
  }
  // Ticks and grid of an axis. uPlot chooses linear ticks.
  axis(log, more) {
    const own = log ? {splits: (u, i, min, max, step, space) => logTicks(min, max, Math.max(2, (i === 0 ? u.bbox.width : u.bbox.height) / devicePixelRatio / (i === 0 ? 70 : 34))),
      filter: (u, splits) => splits} : {};
    return {stroke: () => css('--dim'), grid: {stroke: () => css('--grid'), width: 1, filter: (u, splits) => splits},
      ticks: {stroke: () => css('--axis'), width: 1, size: 5, filter: (u, splits) => splits}, font: FONT, labelFont: FONT,
      values: (u, splits, i, space, step) => tickTexts(splits, log ? 0 : step), ...own, ...more};
  }

  makeChart() {
    const keys = this.scaleKeys(), clip = text => text.length > 40 ? text.slice(0, 39) + '…' : text;
    const scales = {x: {time: false, distr: this.logX ? 3 : 1, range: () => this.rangeX()}};
    const axes = [this.axis(this.logX, {label: clip(this.axisX()), labelSize: 18, size: 28, labelGap: 2})];
    const size = (u, values) => 14 + 7 * Math.max(3, ...(values ?? []).map(v => v.length));
    keys.slice(0, 6).forEach((key, i) => {
      const own = this.drawn.filter(c => this.keyOf(c) === key), more = {scale: key, side: i % 2 ? 1 : 3, label: clip(this.axisText(key)), labelSize: 20,
        labelGap: 0, size};
      if (keys.length > 1 && own.length === 1) more.stroke = () => colourOf(own[0]);
      if (i > 0) more.grid = {show: false};
      axes.push(this.axis(this.logY(key), more));
    });
    for (const key of keys) scales[key] = {distr: this.logY(key) ? 3 : 1, range: () => this.rangeY(key)};
    if (keys.length === 0) { scales.y = {range: [0, 1]}; axes.push(this.axis(false, {scale: 'y', size})); }
    const series = [{}, ...this.drawn.map(c => ({scale: this.keyOf(c), auto: false, points: {show: false}, paths: () => null}))];
    this.madeLog = this.logs();
    return new uPlot({width: this.surface.clientWidth, height: this.height, scales, axes, series, legend: {show: false},
      padding: [8, () => app.marginOf(this, 'right'), 0, () => app.marginOf(this, 'left')],
      cursor: {y: this.phase, points: {show: false}, drag: {x: true, y: true, uni: 30, setScale: false},
        bind: {mousedown: (u, t, handle) => e => { if (e.button === 0 && !e.shiftKey) handle(e); }, dblclick: () => () => app.resetZoom(this)}},
      hooks: {setSelect: [u => this.selected(u)], setCursor: [u => this.pointed(u)], drawAxes: [u => drawEvents(this, u)],
        draw: [u => this.drawCurves(u), u => this.tell(u)]}},
      [[1, 2], ...this.drawn.map(() => [1, 1])], this.surface);
  }

  // What is in view, for tests and for scripts of users; and the room that axes take, which plots below each other share.
  tell(u) {
    const range = key => [u.scales[key].min, u.scales[key].max], data = this.surface.dataset, marks = eventsInView(this);
    data.x = range('x').join(' ');
    data.y = this.scaleKeys().map(key => range(key).join(' ')).join(';');
    data.log = this.logs();
    data.events = marks.length;
    data.eventFiles = [...new Set(marks.flatMap(m => m.results.map(r => r.name)))].join(', ');
    data.hidden = this.hiddenByLog();
    this.note();
    this.showPin();
    const room = side => u.axes.reduce((sum, a) => sum + (a.side === side ? a._size + (a.label != null ? a.labelSize : 0) : 0), 0);
    const left = room(3), right = room(1);
    if (left === this.margins.left && right === this.margins.right) return;
    this.margins = {left, right};
    queueMicrotask(() => app.align());
  }
  // How many values in view have no place on a logarithmic axis.
  hiddenByLog() {
    let n = 0;
    for (const c of this.log.y ? this.drawn : []) {
      if (!this.logY(this.keyOf(c))) continue;
      const {time, values, rows} = this.baseOf(c), [from, until] = this.phase ? [0, 0] : this.rangeX();
      const first = this.phase ? 0 : rowAt(time, rows, from, false), last = this.phase ? rows : rowAt(time, rows, until, true);
      for (let i = first; i < last; i++) if (values[i] <= 0) n++;
    }
    return n;
  }

  transform(u, key) {
    const {left, top, width, height} = u.bbox, x = u.scales.x, y = u.scales[key], limit = 20;
    const sx = new Scale(x.min, x.max, x.distr === 3), sy = new Scale(y.min, y.max, y.distr === 3);
    const bounded = part => Math.min(limit, Math.max(-limit, part));
    return {x: t => left + (sx.log ? bounded(sx.part(Math.max(t, 1e-300))) : sx.part(t)) * width, y: v => top + bounded(1 - sy.part(v)) * height,
      left, right: left + width, from: x.min, until: x.max, at: pixel => sx.at(pixel / width), thin: !sx.log};
  }
  trace(pen, curve, to) {
    const line = this.lineOf(curve);
    if (this.phase) traceOver(pen, this.acrossOf(curve).values, line, to);
    else traceOverTime(pen, line, to);
  }
  drawCurves(u) {
    const {left, top, width, height} = u.bbox, ctx = u.ctx, area = new Path2D();
    area.rect(left, top, width, height);
    ctx.save();
    ctx.clip(area);
    ctx.lineJoin = 'round';
    ctx.lineWidth = 1.6 * devicePixelRatio;
    for (const c of this.drawn) {
      const pen = new Path2D(), to = this.transform(u, this.keyOf(c)), line = this.lineOf(c);
      ctx.strokeStyle = ctx.fillStyle = colourOf(c);
      if (!this.phase && to.thin && isDense(line, to)) {
        ctx.globalAlpha = c.result.index === 0 ? 1 : 0.6;
        outlineOverTime(pen, line, to, ctx.lineWidth);
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

  //------------------------------------ zoom, pan ------------------------------------

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
    const next = new Scale(...this.rangeX(), this.logX).zoomed(factor, around, move);
    if (next[1] - next[0] > 1e-13 * Math.max(Math.abs(next[0]), Math.abs(next[1]))) app.setRange(this, next, null);
  }
  zoomY(factor, around, move) {
    for (const key of this.scaleKeys()) this.y[key] = new Scale(...this.rangeY(key), this.logY(key)).zoomed(factor, around, move);
    this.redraw();
  }
  reset() { this.x = null; this.y = {}; this.redraw(); }
}
