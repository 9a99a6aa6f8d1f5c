// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A point per case, of any two factors or measures. A drag over a box selects the cases in it: it is a brush of both columns.

const POINT_RADIUS = 3.2, FEW_POINTS = 2000;

class Scatter extends Chart {
  constructor(x, y) {
    super('Scatter', true);
    Object.assign(this, {kind: 'scatter', columnX: x, columnY: y, dragged: null});
    this.bindClicks();
    this.bindBox();
    this.bindKeys();
    this.fillTools();
  }
  fillTools() {
    const names = study.columns.map(c => [c.index, c.label + (c.role === 'measure' ? '' : ' (factor)')]);
    this.surface.ariaLabel = 'Scatter plot of ' + this.columnY.name + ' over ' + this.columnX.name;
    const set = (key, i) => { this[key] = study.columns[i]; this.fillTools(); this.layout(); };
    this.tools.replaceChildren(choice('x', names, this.columnX.index, i => set('columnX', i), true), choice('y', names, this.columnY.index, i => set('columnY', i), true),
      make('button', {title: 'Save the picture as PNG', onclick: () => this.picturePng()}, 'PNG'),
      make('button', {ariaLabel: 'Remove chart', onclick: () => app.removePanel(this)}, '✕'));
  }
  paddedScale(column) {
    const range = column.isLog ? column.rangeAbove : column.range;
    return new Scale(...(column.isLog ? paddedLog(...range) : padded(...range)), column.isLog);
  }
  prepare() {
    this.scaleX = this.paddedScale(this.columnX);
    this.scaleY = this.paddedScale(this.columnY);
    this.margin.left = 40;
    this.margin.left = Math.ceil(this.ticksWidth(this.scaleY)) + 30;
    const {width, height} = this.box, {ratio, scaleX, scaleY} = this, x = this.columnX.values, y = this.columnY.values;
    this.xs = Float32Array.from({length: study.n}, (_, i) => scaleX.part(x[i]) * width * ratio);
    this.ys = Float32Array.from({length: study.n}, (_, i) => (1 - scaleY.part(y[i])) * height * ratio);
    this.radius = (study.n > FEW_POINTS ? 1.6 + 1.6 * Math.sqrt(FEW_POINTS / study.n) : POINT_RADIUS) * ratio;
  }
  hasPoint(i) { return Number.isFinite(this.xs[i]) && Number.isFinite(this.ys[i]); }
  drawCase(raster, i, sign, level) { if (this.hasPoint(i)) raster.disc(this.xs[i], this.ys[i], this.radius, sign, level); }
  drawUnder() { this.drawAxes(this.scaleX, this.scaleY, this.columnX.label, this.columnY.label); }
  strength() { return Math.max(0.35, strengthFor(this.raster.cases / 20)); }
  drawMarks(ctx) {
    const {left, top, width, height} = this.box;
    this.drawFailures(ctx);
    const brushed = [this.columnX, this.columnY].some(c => c.brush);
    if (!brushed && !this.dragged) return;
    const [x0, x1] = this.dragged ? [this.dragged.x0, this.dragged.x1] : (this.columnX.brush ?? [this.scaleX.min, this.scaleX.max]).map(v => left + this.scaleX.part(v) * width);
    const [y0, y1] = this.dragged ? [this.dragged.y0, this.dragged.y1] : (this.columnY.brush ?? [this.scaleY.min, this.scaleY.max]).map(v => top + (1 - this.scaleY.part(v)) * height);
    ctx.strokeStyle = ctx.fillStyle = css('--accent');
    ctx.lineWidth = 1.5;
    ctx.globalAlpha = 0.1; ctx.fillRect(x0, y0, x1 - x0, y1 - y0); ctx.globalAlpha = 1; ctx.strokeRect(x0, y0, x1 - x0, y1 - y0);
  }
  // Where cases failed, as far as both numbers are known (factors are).
  drawFailures(ctx) {
    ctx.strokeStyle = css('--c6');
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    for (const i of study.reasons.keys()) {
      if (study.mask[i] === 0 || !this.hasPoint(i)) continue;
      const [x, y] = this.pointOf(i), r = 3.5;
      ctx.moveTo(x - r, y - r); ctx.lineTo(x + r, y + r); ctx.moveTo(x - r, y + r); ctx.lineTo(x + r, y - r);
    }
    ctx.stroke();
  }
  pointOf(i) { const {left, top} = this.box; return [left + this.xs[i] / this.ratio, top + this.ys[i] / this.ratio]; }
  drawSingle(ctx, i, style) {
    if (!this.hasPoint(i)) return;
    ctx.beginPath();
    ctx.arc(...this.pointOf(i), 6, 0, 2 * Math.PI);
    ctx.strokeStyle = css('--bg'); ctx.lineWidth = 5; ctx.stroke();
    ctx.strokeStyle = style; ctx.lineWidth = 2.5; ctx.stroke();
  }
  nearest(x, y) {
    const {left, top} = this.box, {ratio, xs, ys} = this, px = (x - left) * ratio, py = (y - top) * ratio;
    let best = (14 * ratio) ** 2, found = -1;
    for (let i = 0; i < study.n; i++) {
      if (study.mask[i] === 0) continue;
      const d = (xs[i] - px) ** 2 + (ys[i] - py) ** 2;
      if (d < best) { best = d; found = i; }
    }
    return found;
  }
  textOf(i) {
    const shown = [this.columnX, this.columnY, ...(colour.column && colour.column !== this.columnX && colour.column !== this.columnY ? [colour.column] : [])];
    return 'case ' + i + ': ' + shown.map(c => c.name + ' = ' + c.format(c.values[i])).join(', ') + (study.reasons.has(i) ? ', failed' : '');
  }
  idleText() {
    let missing = 0;
    for (let i = 0; i < study.n; i++) if (study.mask[i] === 1 && !this.hasPoint(i)) missing++;
    return missing > 0 ? grouped(missing) + ' selected cases have no number here' : '';
  }
  tell() { super.tell(); if (this.hover < 0) this.at.textContent = this.idleText(); }

  //------------------------------------ the box ------------------------------------

  bindBox() {
    const {surface} = this;
    let press = null;
    surface.addEventListener('pointerdown', e => {
      if (!e.isPrimary || e.button !== 0) return;
      press = this.place(e);
      surface.setPointerCapture(e.pointerId);
    });
    surface.addEventListener('pointermove', e => {
      if (!press) return;
      const [x, y] = this.place(e), {left, top, width, height} = this.box;
      if (!this.dragged && Math.hypot(x - press[0], y - press[1]) < 6) return;
      const bound = (v, low, room) => Math.min(low + room, Math.max(low, v));
      const [x0, x1] = [press[0], x].map(v => bound(v, left, width)).sort((a, b) => a - b), [y0, y1] = [press[1], y].map(v => bound(v, top, height)).sort((a, b) => a - b);
      this.dragged = {x0, x1, y0, y1};
      const range = (scale, a, b) => [scale.at(a), scale.at(b)];
      app.brushes([[this.columnX, range(this.scaleX, (x0 - left) / width, (x1 - left) / width)],
        ...(this.columnX === this.columnY ? [] : [[this.columnY, range(this.scaleY, 1 - (y1 - top) / height, 1 - (y0 - top) / height)]])]);
    });
    for (const end of ['pointerup', 'pointercancel']) surface.addEventListener(end, () => { press = null; this.dragged = null; this.drawOver(); });
    surface.addEventListener('dblclick', () => app.brushes([[this.columnX, null], [this.columnY, null]]));
  }
  // Left and right go from case to case in the order of x; Enter keeps the case.
  bindKeys() {
    this.surface.addEventListener('keydown', e => {
      if (e.ctrlKey || e.altKey || e.metaKey) return;
      if (e.key === 'ArrowLeft' || e.key === 'ArrowRight') this.stepTo(e.key === 'ArrowRight' ? 1 : -1);
      else if (e.key === 'Enter' && this.hover >= 0) app.pin(this.hover, e.shiftKey);
      else if (e.key === 'Delete') app.removePanel(this);
      else return;
      e.preventDefault();
    });
  }
  stepTo(way) {
    const {xs} = this, from = this.hover >= 0 ? this.hover : way > 0 ? -1 : study.n;
    const key = i => i < 0 ? -Infinity : i >= study.n ? Infinity : xs[i], before = (a, b) => key(a) < key(b) || (key(a) === key(b) && a < b);
    let found = -1;
    for (let i = 0; i < study.n; i++) {
      if (study.mask[i] === 0 || !this.hasPoint(i) || i === from) continue;
      const ahead = way > 0 ? before(from, i) : before(i, from), closer = found < 0 || (way > 0 ? before(i, found) : before(found, i));
      if (ahead && closer) found = i;
    }
    if (found < 0) return;
    this.setHover(found);
    announce(this.at.textContent);
  }
}
