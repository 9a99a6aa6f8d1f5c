// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parallel coordinates: an axis per factor and measure, a line per case. A drag along an axis is a brush: an interval that selected
// cases are in. All cases are grey below the selected ones.

const NEAR_AXIS = 22, BRUSH_WIDTH = 16, EDGE = 7;

// The value at a part of an axis; its ends exactly, so that a brush up to the end has the last case.
const endsExact = (scale, part) => part <= 0 ? scale.min : part >= 1 ? scale.max : scale.at(part);

class Parallel extends Chart {
  constructor() {
    super('Parallel coordinates', true);
    Object.assign(this, {axes: [], drag: null, backStrength: 0.4 * strengthFor(study.n)});
    Object.assign(this.margin, {left: 46, right: 46, top: 46, bottom: 12});
    this.heads = make('div', {className: 'heads'});
    this.surface.append(this.heads);
    this.element.classList.add('parallel');
    this.tools.append(make('button', {title: 'Save the picture as PNG', onclick: () => this.picturePng()}, 'PNG'));
    this.surface.removeAttribute('tabindex'); // the axes have the focus
    this.surface.setAttribute('role', 'group');
    this.bindClicks();
    this.bindBrushes();
  }
  // Many axes have room: the panel scrolls sideways.
  setAxes(columns) {
    this.axes = columns;
    this.surface.style.minWidth = this.margin.left + this.margin.right + 78 * Math.max(1, columns.length - 1) + 'px';
    this.width = this.surface.clientWidth;
    this.makeHeads();
    this.layout();
  }
  xOf(k) { const {left, width} = this.box; return this.axes.length > 1 ? left + width * k / (this.axes.length - 1) : left + width / 2; }
  prepare() {
    const {left, width, height} = this.box, {ratio} = this;
    this.xs = Float32Array.from(this.axes, (_, k) => (this.xOf(k) - left) * ratio);
    if (this.axes.length === 1) this.xs[0] = width * ratio / 2;
    this.ys = this.axes.map(column => {
      const {values, scale} = column, out = new Float32Array(study.n);
      for (let i = 0; i < study.n; i++) {
        const part = scale.part(values[i]);
        out[i] = part >= -1e-9 && part <= 1 + 1e-9 ? (1 - part) * height * ratio : NaN;
      }
      return out;
    });
    this.one = new Float32Array(this.axes.length);
    this.placeHeads();
  }
  drawCase(raster, i, sign, level) {
    const {one, ys} = this;
    for (let k = 0; k < ys.length; k++) one[k] = ys[k][i];
    raster.polyline(this.xs, one, ys.length, 0.5 * this.ratio, sign, level);
  }

  //------------------------------------ axes ------------------------------------

  makeHeads() {
    this.heads.replaceChildren(...this.axes.map((column, k) => {
      const head = make('button', {className: 'head', title: column.label + (column.text ? ': ' + column.text : '') + '\n' + column.role});
      head.append(make('span', {}, column.name), make('small', {}));
      head.dataset.name = column.name;
      head.addEventListener('keydown', e => this.pressed(e, column));
      this.bindMove(head, column);
      return head;
    }));
    this.describeHeads();
  }
  placeHeads() {
    [...this.heads.children].forEach((head, k) => {
      const room = this.axes.length > 1 ? Math.min(150, this.box.width / (this.axes.length - 1) - 6) : 200;
      Object.assign(head.style, {left: this.xOf(k) - room / 2 + 'px', width: room + 'px'});
    });
  }
  describeHeads() {
    [...this.heads.children].forEach((head, k) => {
      const {brush, label} = this.axes[k], column = this.axes[k];
      head.ariaLabel = label + (brush ? ': brush from ' + column.format(brush[0]) + ' to ' + column.format(brush[1]) : ': no brush');
      head.classList.toggle('brushed', brush !== null);
      head.lastChild.textContent = [column.unit, column.isLog ? 'log' : ''].filter(t => t).join(', ') || '\u00a0';
    });
  }
  drawUnder() {
    if (this.width === 0) return;
    const ctx = this.pen(this.under), {top, height} = this.box;
    this.axes.forEach((column, k) => {
      const x = Math.round(this.xOf(k)) + 0.5;
      ctx.strokeStyle = css('--axis');
      ctx.beginPath(); ctx.moveTo(x, top); ctx.lineTo(x, top + height); ctx.stroke();
    });
  }
  // The numbers stand above the lines.
  drawMarks(ctx) {
    const {top, height} = this.box;
    this.axes.forEach((column, k) => {
      const x = this.xOf(k), {scale} = column, last = k === this.axes.length - 1 && k > 0;
      const {values, texts} = this.ticks(scale, height, 46);
      ctx.textAlign = last ? 'right' : 'left'; ctx.textBaseline = 'middle';
      ctx.lineWidth = 3; ctx.lineJoin = 'round';
      values.forEach((v, i) => {
        const y = top + (1 - scale.part(v)) * height, at = last ? x - 7 : x + 7;
        ctx.strokeStyle = css('--axis');
        ctx.lineWidth = 1;
        ctx.beginPath(); ctx.moveTo(x - 3, y); ctx.lineTo(x + 3, y); ctx.stroke();
        ctx.strokeStyle = css('--bg'); ctx.fillStyle = css('--ink');
        ctx.lineWidth = 3;
        ctx.strokeText(texts[i], at, y); ctx.fillText(texts[i], at, y);
      });
      if (column.brush) this.drawBrush(ctx, x, column);
    });
  }
  drawBrush(ctx, x, column) {
    const [from, to] = this.brushPlaces(column);
    ctx.fillStyle = css('--accent');
    ctx.globalAlpha = 0.22;
    ctx.fillRect(x - BRUSH_WIDTH / 2, to, BRUSH_WIDTH, from - to);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = css('--accent');
    ctx.lineWidth = 1.5;
    ctx.strokeRect(x - BRUSH_WIDTH / 2, to, BRUSH_WIDTH, from - to);
  }
  yOf(column, v) { const {top, height} = this.box; return top + (1 - Math.min(1, Math.max(0, column.scale.part(v)))) * height; }
  valueAt(column, y) { const {top, height} = this.box; return endsExact(column.scale, 1 - (y - top) / height); }
  brushPlaces(column) { return column.brush.map(v => this.yOf(column, v)); }

  //------------------------------------ brushes ------------------------------------

  axisAt(x) {
    let best = NEAR_AXIS, found = null;
    const near = this.axes.length > 1 ? Math.min(NEAR_AXIS, this.box.width / (this.axes.length - 1) / 3) : NEAR_AXIS;
    this.axes.forEach((column, k) => { const d = Math.abs(this.xOf(k) - x); if (d <= near && d < best) { best = d; found = column; } });
    return found;
  }
  bindBrushes() {
    const surface = this.surface;
    surface.addEventListener('pointerdown', e => {
      if (!e.isPrimary || e.button !== 0 || e.target.closest('.head')) return;
      const [x, y] = this.place(e), column = this.axisAt(x), {top, height} = this.box;
      if (!column || y < top - 8 || y > top + height + 8) return;
      e.preventDefault();
      surface.setPointerCapture(e.pointerId);
      this.drag = {column, y, moved: false, ...this.grip(column, y)};
    });
    surface.addEventListener('pointermove', e => {
      const [x, y] = this.place(e);
      surface.classList.toggle('on-axis', this.axisAt(x) !== null);
      if (this.drag) this.dragTo(y);
    });
    for (const end of ['pointerup', 'pointercancel']) {
      surface.addEventListener(end, () => {
        if (this.drag && !this.drag.moved && this.drag.column.brush) app.brush(this.drag.column, null); // a click on an axis
        this.drag = null;
      });
    }
    // On a touch screen a finger on an axis brushes, elsewhere it scrolls.
    surface.addEventListener('touchstart', e => {
      const t = e.touches[0], r = surface.getBoundingClientRect();
      if (e.touches.length === 1 && this.axisAt(t.clientX - r.left)) e.preventDefault();
    }, {passive: false});
  }
  // What a drag from there moves: an end of the brush, all of it, or a new one.
  grip(column, y) {
    if (!column.brush) return {part: 'new'};
    const [low, high] = this.brushPlaces(column);
    if (Math.abs(y - low) <= EDGE) return {part: 'end', fixed: column.brush[1]};
    if (Math.abs(y - high) <= EDGE) return {part: 'end', fixed: column.brush[0]};
    return y < low && y > high ? {part: 'whole', low, high} : {part: 'new'};
  }
  dragTo(y) {
    const d = this.drag, {column} = d, {top, height} = this.box;
    if (!d.moved && Math.abs(y - d.y) < 4) return;
    d.moved = true;
    if (d.part === 'whole') {
      const off = Math.min(top + height - d.low, Math.max(top - d.high, y - d.y));
      app.brush(column, [this.valueAt(column, d.low + off), this.valueAt(column, d.high + off)]);
    } else {
      const from = d.part === 'end' ? d.fixed : this.valueAt(column, d.y), to = this.valueAt(column, y);
      app.brush(column, [Math.min(from, to), Math.max(from, to)]);
    }
  }
  // Up and down move the brush, with Shift its upper end, with Alt its lower one.
  pressed(e, column) {
    const {scale} = column, k = this.axes.indexOf(column), keys = {ArrowUp: 1, ArrowDown: -1};
    if (e.key in keys && !e.ctrlKey && !e.metaKey) {
      const parts = (column.brush ?? [scale.at(1 / 3), scale.at(2 / 3)]).map(v => scale.part(v)), step = keys[e.key] / 50;
      const bounded = p => Math.min(1, Math.max(0, p));
      if (!column.brush) {} // the first press makes one
      else if (e.shiftKey) parts[1] = Math.max(parts[0], bounded(parts[1] + step));
      else if (e.altKey) parts[0] = Math.min(parts[1], bounded(parts[0] + step));
      else { const move = Math.min(1 - parts[1], Math.max(-parts[0], step)); parts[0] += move; parts[1] += move; }
      app.brush(column, parts.map(p => endsExact(scale, p)));
      announce(this.heads.children[k].ariaLabel + ', ' + study.selected + ' cases selected');
    } else if (e.key === 'ArrowLeft' || e.key === 'ArrowRight') app.moveAxis(column, k + (e.key === 'ArrowRight' ? 1 : -1), true);
    else if (e.key === 'Delete' || e.key === 'Backspace') app.brush(column, null);
    else if (e.key === 'Enter' || e.key === ' ') app.colourBy(colour.column === column ? null : column);
    else if (e.key === 'l') app.setLog(column, !column.log);
    else return;
    e.preventDefault();
  }
  // A click on a name colours by it; a drag moves the axis.
  bindMove(head, column) {
    let from = null;
    head.addEventListener('pointerdown', e => { from = {x: e.clientX, moved: false}; head.setPointerCapture(e.pointerId); });
    head.addEventListener('pointermove', e => {
      if (!from || Math.abs(e.clientX - from.x) < 6) return;
      from.moved = true;
      head.style.transform = 'translateX(' + (e.clientX - from.x) + 'px)';
    });
    head.addEventListener('pointerup', e => {
      const moved = from?.moved, off = from ? e.clientX - from.x : 0;
      from = null;
      head.style.transform = '';
      if (!moved) { app.colourBy(colour.column === column ? null : column); return; }
      const step = this.axes.length > 1 ? this.box.width / (this.axes.length - 1) : 1;
      app.moveAxis(column, this.axes.indexOf(column) + Math.round(off / step), false);
    });
    head.addEventListener('pointercancel', () => { from = null; head.style.transform = ''; });
  }

  //------------------------------------ single cases ------------------------------------

  drawSingle(ctx, i, style, thickness) {
    const {left, top, height} = this.box;
    ctx.strokeStyle = style;
    ctx.lineWidth = thickness;
    ctx.lineJoin = 'round';
    ctx.beginPath();
    let down = false;
    this.axes.forEach((column, k) => {
      const part = column.scale.part(column.values[i]);
      if (!(part >= -1e-9 && part <= 1 + 1e-9)) { down = false; return; }
      const x = this.xOf(k), y = top + (1 - part) * height;
      if (down) ctx.lineTo(x, y); else ctx.moveTo(x, y);
      down = true;
    });
    ctx.stroke();
  }
  nearest(x, y) {
    const {left, top, height, width} = this.box, {ratio} = this;
    if (this.drag || y < top - 4 || y > top + height + 4 || this.axes.length < 2 || this.axisAt(x) && this.axes.length > 1 && Math.abs(x - this.xOf(this.axes.indexOf(this.axisAt(x)))) < 8) return -1;
    const step = width / (this.axes.length - 1), k = Math.min(this.axes.length - 2, Math.max(0, Math.floor((x - left) / step)));
    const part = (x - left) / step - k, a = this.ys[k], b = this.ys[k + 1], at = (y - top) * ratio;
    let best = 10 * ratio, found = -1;
    for (let i = 0; i < study.n; i++) {
      if (study.mask[i] === 0) continue;
      const d = Math.abs(a[i] + (b[i] - a[i]) * part - at);
      if (d < best) { best = d; found = i; }
    }
    return found;
  }
  textOf(i) { return 'case ' + i + ': ' + this.axes.map(c => c.name + ' = ' + c.format(c.values[i])).join(', '); }
  refresh() { this.describeHeads(); super.refresh(); }
  picturePng() {
    const was = this.drawMarks; // names of the axes are elements of the page
    this.drawMarks = ctx => {
      was.call(this, ctx);
      ctx.fillStyle = css('--ink'); ctx.textAlign = 'center'; ctx.textBaseline = 'alphabetic';
      this.axes.forEach((column, k) => ctx.fillText(this.clipped(ctx, column.label, 140), this.xOf(k), 30));
    };
    this.drawOver();
    super.picturePng();
    this.drawMarks = was;
    this.drawOver();
  }
}
