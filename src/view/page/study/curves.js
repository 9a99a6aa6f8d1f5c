// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Curves of all selected cases over time, the quantiles of their values at each time (a fan chart), or both.

const CURVE_MODES = {curves: 'curves', fan: 'quantiles', both: 'both'};
const FAN = [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1];

class CaseCurves extends Chart {
  constructor(curve, mode = 'curves') {
    super('Curves', false);
    Object.assign(this, {kind: 'curves', mode, x: null, y: null, log: false, fan: null, cursor: NaN});
    this.bindClicks();
    this.bindZoom();
    this.setCurve(curve);
  }
  setCurve(curve) { this.curve = curve; this.y = null; this.fan = null; this.fillTools(); this.layout(); }
  setMode(mode) { this.mode = mode; this.fillTools(); this.layout(); }
  fillTools() {
    const names = study.curves.map((c, i) => [i, c.label]);
    this.heading.textContent = (this.mode === 'fan' ? 'Quantiles' : 'Curves') + (study.curves.length > 1 ? '' : ' of ' + this.curve.name);
    this.surface.ariaLabel = (this.mode === 'fan' ? 'Quantiles over time of ' : 'Curves of ') + this.curve.name;
    this.tools.replaceChildren(
      ...(study.curves.length > 1 ? [choice('Curve', names, this.curve.index, i => this.setCurve(study.curves[i]))] : []),
      choice('Drawn as', Object.entries(CURVE_MODES), this.mode, mode => this.setMode(mode)),
      switched('log y', this.log, 'A logarithmic axis for values', () => { this.log = !this.log; this.y = null; this.fillTools(); this.layout(); }),
      ...(this.x || this.y ? [make('button', {title: 'Show everything (Home)', onclick: () => this.reset()}, 'Show all')] : []),
      make('button', {title: 'Save the picture as PNG', onclick: () => this.picturePng()}, 'PNG'),
      make('button', {ariaLabel: 'Remove chart', onclick: () => app.removePanel(this)}, '✕'));
  }

  //------------------------------------ scales ------------------------------------

  scales() {
    const {times} = study, x = this.x ?? [times[0], times[times.length - 1]], log = this.log && this.curve.rangeAbove[0] > 0;
    return [new Scale(...(x[0] < x[1] ? x : padded(x[0], x[0])), false), new Scale(...(this.y ?? (log ? paddedLog(...this.curve.rangeAbove) : padded(...this.curve.range))), log)];
  }
  prepare() {
    [this.scaleX, this.scaleY] = this.scales();
    this.margin.left = 40;
    this.margin.left = Math.ceil(this.ticksWidth(this.scaleY)) + 30;
    const {width, height} = this.box, {ratio, scaleX} = this, {times} = study;
    this.places = Float32Array.from(times, t => scaleX.part(t) * width * ratio);
    // only the times in view, and one on each side
    this.from = 0; this.until = times.length;
    while (this.from + 1 < times.length && times[this.from + 1] < scaleX.min) this.from++;
    while (this.until > this.from + 1 && times[this.until - 2] > scaleX.max) this.until--;
    this.placesInView = this.places.subarray(this.from, this.until);
    this.one = new Float32Array(this.until - this.from);
    this.pixels = height * ratio;
  }
  drawCase(raster, i, sign, level) {
    const row = study.rowOf(i);
    if (row < 0) return;
    const {one, from, until, pixels, scaleY} = this, {values} = this.curve, base = row * study.times.length;
    if (scaleY.log) {
      for (let k = from; k < until; k++) { const v = values[base + k]; one[k - from] = v > 0 ? (1 - scaleY.part(v)) * pixels : NaN; }
    } else {
      const slope = pixels / (scaleY.high - scaleY.low), {high} = scaleY;
      for (let k = from; k < until; k++) one[k - from] = (high - values[base + k]) * slope;
    }
    raster.polyline(this.placesInView, one, until - from, 0.5 * this.ratio, sign, level);
  }

  //------------------------------------ drawing ------------------------------------

  drawUnder() { this.drawAxes(this.scaleX, this.scaleY, 'time [s]', this.curve.label); }
  * draw() {
    this.picture.hidden = this.mode === 'fan';
    if (this.mode !== 'fan') yield* super.draw();
    if (this.mode !== 'curves') yield* this.makeFan();
    this.drawOver();
    this.at.textContent = this.hover >= 0 ? this.textOf(this.hover) : this.idleText();
    this.tell();
  }
  // Quantiles of the selected cases at all times.
  * makeFan() {
    const T = study.times.length, Q = FAN.length, fan = {values: new Float64Array(T * Q), counts: new Uint32Array(T)};
    if (study.curveCases > MOST_SORTED) return;
    yield* this.curve.order.sort();
    for (let k = 0; k < T; k++) {
      fan.counts[k] = this.curve.order.quantilesAt(k, FAN, fan.values, k * Q);
      if (k % 4 === 3) yield;
    }
    this.fan = fan;
  }
  tell() {
    super.tell();
    if (this.mode === 'fan') this.surface.dataset.cases = this.fan ? Math.max(...this.fan.counts) : 0;
  }
  pointOf(t, v) {
    const {left, top, width, height} = this.box;
    return [left + this.scaleX.part(t) * width, top + (1 - this.scaleY.part(v)) * height];
  }
  clip(ctx) {
    const {left, top, width, height} = this.box;
    ctx.save();
    ctx.beginPath(); ctx.rect(left, top, width, height); ctx.clip();
  }
  drawMarks(ctx) {
    const {left, top, width, height} = this.box;
    this.clip(ctx);
    if (this.fan && this.mode !== 'curves') this.drawFan(ctx);
    if (Number.isFinite(this.cursor)) {
      const x = left + this.scaleX.part(this.cursor) * width;
      ctx.strokeStyle = css('--dim'); ctx.lineWidth = 1; ctx.setLineDash([4, 3]);
      ctx.beginPath(); ctx.moveTo(x, top); ctx.lineTo(x, top + height); ctx.stroke();
      ctx.setLineDash([]);
    }
    if (this.zooming) {
      const {x0, y0, x1, y1} = this.zooming;
      ctx.fillStyle = ctx.strokeStyle = css('--accent');
      ctx.globalAlpha = 0.18; ctx.fillRect(x0, y0, x1 - x0, y1 - y0); ctx.globalAlpha = 1; ctx.strokeRect(x0, y0, x1 - x0, y1 - y0);
    }
    ctx.restore();
  }
  drawFan(ctx) {
    const {times} = study, {values} = this.fan, Q = FAN.length, accent = css(this.mode === 'fan' ? '--c0' : '--ink');
    const path = q => {
      let down = false;
      for (let k = this.from; k < this.until; k++) {
        const v = values[k * Q + q];
        if (!Number.isFinite(v) || (this.scaleY.log && v <= 0)) { down = false; continue; }
        const p = this.pointOf(times[k], v);
        if (down) ctx.lineTo(...p); else ctx.moveTo(...p);
        down = true;
      }
    };
    const band = (low, high, alpha) => {
      ctx.beginPath();
      let part = [];
      const close = () => {
        part.forEach(([p], n) => n === 0 ? ctx.moveTo(...p) : ctx.lineTo(...p));
        for (const [, p] of part.reverse()) ctx.lineTo(...p);
        part = [];
      };
      for (let k = this.from; k < this.until; k++) {
        const a = values[k * Q + low], b = values[k * Q + high];
        if (Number.isFinite(a) && (!this.scaleY.log || a > 0)) part.push([this.pointOf(times[k], a), this.pointOf(times[k], b)]); else close();
      }
      close();
      ctx.fillStyle = accent; ctx.globalAlpha = alpha; ctx.fill(); ctx.globalAlpha = 1;
    };
    if (this.mode === 'fan') { band(1, 5, 0.2); band(2, 4, 0.3); }
    const line = (q, thickness, dash) => {
      ctx.beginPath(); path(q);
      ctx.strokeStyle = accent; ctx.lineWidth = thickness; ctx.setLineDash(dash); ctx.stroke(); ctx.setLineDash([]);
    };
    for (const q of [0, 6]) line(q, 1, [2, 3]);
    if (this.mode === 'both') for (const q of [1, 2, 4, 5]) line(q, 1, []);
    line(3, 2.2, []);
  }
  drawSingle(ctx, i, style, thickness) {
    const row = study.rowOf(i);
    if (row < 0) return;
    const {values} = this.curve, base = row * study.times.length, {times} = study;
    this.clip(ctx);
    ctx.beginPath();
    let down = false;
    for (let k = this.from; k < this.until; k++) {
      const v = values[base + k];
      if (!Number.isFinite(v) || (this.scaleY.log && v <= 0)) { down = false; continue; }
      const p = this.pointOf(times[k], v);
      if (down) ctx.lineTo(...p); else ctx.moveTo(...p);
      down = true;
    }
    ctx.lineJoin = 'round';
    ctx.strokeStyle = css('--bg'); ctx.lineWidth = thickness + 2; ctx.stroke();
    ctx.strokeStyle = style; ctx.lineWidth = thickness; ctx.stroke();
    ctx.restore();
  }

  //------------------------------------ pointing ------------------------------------

  timeAt(x) { const {left, width} = this.box; return Math.min(this.scaleX.max, Math.max(this.scaleX.min, this.scaleX.at((x - left) / width))); }
  nearest(x, y) {
    const {left, top, width, height} = this.box;
    if (this.mode === 'fan' || x < left || x > left + width || y < top || y > top + height) return -1;
    const t = this.timeAt(x), k = study.timeIndex(t), T = study.times.length, {values} = this.curve;
    if (k < 0) return -1;
    const t0 = study.times[k], t1 = study.times[k + 1], part = t1 > t0 ? (t - t0) / (t1 - t0) : 0, step = k + 1 < T ? 1 : 0;
    let best = 14, found = -1;
    for (let r = 0; r < study.curveCases; r++) {
      const i = r * study.curveStep;
      if (study.mask[i] === 0) continue;
      const v = values[r * T + k], d = Math.abs(top + (1 - this.scaleY.part(v + (values[r * T + k + step] - v) * part)) * height - y);
      if (d < best) { best = d; found = i; }
    }
    return found;
  }
  pointed(e) {
    const [x, y] = this.place(e), {left, width} = this.box;
    if (this.zooming) return;
    this.cursor = x >= left && x <= left + width ? this.timeAt(x) : NaN;
    this.hover = this.nearest(x, y);
    this.show();
  }
  show() { this.at.textContent = this.hover >= 0 ? this.textOf(this.hover) : this.idleText(); this.drawOver(); }
  setHover(i) { this.cursor = NaN; super.setHover(i); this.show(); }
  textOf(i) {
    const t = Number.isFinite(this.cursor) ? this.cursor : study.times[study.times.length - 1], v = this.curve.at(i, t);
    const by = colour.column ? ', ' + colour.column.name + ' = ' + colour.column.format(colour.column.values[i]) : '';
    return 'case ' + i + ': ' + this.curve.name + ' = ' + this.curve.format(v) + ' at ' + short(t) + ' s' + by;
  }
  idleText() {
    const {cursor, fan} = this, some = study.curveStep > 1 ? 'one case in ' + study.curveStep + ' has curves in this page' : '';
    if (this.mode === 'curves' || !fan) return this.raster.cases > 0 ? some : 'no case is selected';
    if (!Number.isFinite(cursor)) return 'median, 25–75 %, 5–95 %, least and greatest of ' + casesText(Math.max(0, ...fan.counts)) + (some ? '; ' + some : '');
    let k = Math.max(0, study.timeIndex(cursor));
    if (k + 1 < study.times.length && study.times[k + 1] - cursor < cursor - study.times[k]) k++;
    const names = ['least', '5 %', '25 %', 'median', '75 %', '95 %', 'greatest'];
    return 'time = ' + short(study.times[k]) + ' s: ' + names.map((n, q) => n + ' ' + short(fan.values[k * FAN.length + q])).join(', ') +
      (this.curve.unit ? ' ' + this.curve.unit : '') + ' (' + casesText(fan.counts[k]) + ')';
  }

  //------------------------------------ zoom ------------------------------------

  reset() { this.x = this.y = null; this.fillTools(); this.layout(); }
  zoom(x, y) {
    if (x && x[1] - x[0] > 1e-12 * Math.max(Math.abs(x[0]), Math.abs(x[1]))) this.x = x;
    if (y && y[1] > y[0]) this.y = y;
    this.fillTools();
    this.layout();
  }
  bindZoom() {
    const {surface} = this;
    surface.addEventListener('pointerdown', e => {
      if (!e.isPrimary || e.button !== 0) return;
      const [x, y] = this.place(e);
      this.press = {x, y};
      surface.setPointerCapture(e.pointerId);
    });
    surface.addEventListener('pointermove', e => {
      if (!this.press) return;
      const [x, y] = this.place(e), {left, top, width, height} = this.box, dx = Math.abs(x - this.press.x), dy = Math.abs(y - this.press.y);
      if (!this.zooming && dx < 6 && dy < 6) return;
      const bound = (v, low, room) => Math.min(low + room, Math.max(low, v));
      this.zooming = {x0: dx < 20 ? left : bound(this.press.x, left, width), x1: dx < 20 ? left + width : bound(x, left, width),
        y0: dy < 20 ? top : bound(this.press.y, top, height), y1: dy < 20 ? top + height : bound(y, top, height)};
      this.hover = -1;
      this.drawOver();
    });
    surface.addEventListener('pointerup', () => {
      const z = this.zooming, {left, top, width, height} = this.box;
      this.press = this.zooming = null;
      if (!z) return;
      const x = [z.x0, z.x1].sort((a, b) => a - b).map(v => this.scaleX.at((v - left) / width));
      const y = [z.y0, z.y1].sort((a, b) => b - a).map(v => this.scaleY.at(1 - (v - top) / height));
      this.zoom(x[0] === this.scaleX.min && x[1] === this.scaleX.max ? null : x, Math.abs(z.y1 - z.y0) >= height - 1 ? null : y);
    });
    surface.addEventListener('pointercancel', () => { this.press = this.zooming = null; this.drawOver(); });
    surface.addEventListener('dblclick', () => this.reset());
    surface.addEventListener('wheel', e => {
      if (document.activeElement !== surface && !e.ctrlKey) return; // the page scrolls until a chart is chosen
      e.preventDefault();
      const [x, y] = this.place(e), {left, top, width, height} = this.box, factor = Math.exp(Math.max(-1, Math.min(1, (e.deltaY || e.deltaX) / 300)));
      if (e.shiftKey) this.zoom(null, this.scaleY.zoomed(factor, 1 - (y - top) / height, 0)); else this.zoom(this.scaleX.zoomed(factor, (x - left) / width, 0), null);
    }, {passive: false});
    const keys = {
      '+': () => this.zoom(this.scaleX.zoomed(0.7, 0.5, 0), null), '=': () => this.zoom(this.scaleX.zoomed(0.7, 0.5, 0), null),
      '-': () => this.zoom(this.scaleX.zoomed(1 / 0.7, 0.5, 0), null), Home: () => this.reset(), 0: () => this.reset(),
      ArrowUp: () => this.zoom(null, this.scaleY.zoomed(1, 0, 0.1)), ArrowDown: () => this.zoom(null, this.scaleY.zoomed(1, 0, -0.1)),
      ArrowLeft: e => e.shiftKey ? this.zoom(this.scaleX.zoomed(1, 0, -0.1), null) : this.step(-1),
      ArrowRight: e => e.shiftKey ? this.zoom(this.scaleX.zoomed(1, 0, 0.1), null) : this.step(1),
      Delete: () => app.removePanel(this),
    };
    surface.addEventListener('keydown', e => {
      if (e.ctrlKey || e.altKey || e.metaKey || !keys[e.key]) return;
      e.preventDefault();
      keys[e.key](e);
    });
  }
  // The cursor moves by a hundredth; the values there are read aloud.
  step(way) {
    const at = Number.isFinite(this.cursor) ? this.scaleX.part(this.cursor) : 0.5;
    this.cursor = this.scaleX.at(Math.min(1, Math.max(0, at + way / 100)));
    this.hover = this.mode === 'fan' ? -1 : app.pinned[0] ?? -1;
    this.show();
    announce(this.at.textContent);
  }
}
