// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A chart of cases: canvases over each other (grid and axes, all cases in grey where there is a brush, the selected cases, single cases
// and marks), scales, a line of text below. Subclasses say what is drawn of a case and where.

const CHART_FONT = '12px system-ui, "DejaVu Sans", sans-serif';
const linearTicks = (min, max, most) => multiples(min, max, niceStep((max - min) / Math.max(2, most)));

class Chart {
  // hasBack: cases that are not selected stay visible in grey.
  constructor(title, hasBack) {
    Object.assign(this, {raster: new Raster(), back: hasBack ? new Raster() : null, backStale: true, backStrength: 0.25, width: 0, height: 0, ratio: 1, isInView: false, hover: -1, stale: true,
      margin: {left: 50, right: 14, top: 8, bottom: 38}});
    this.under = make('canvas', {}); this.picture = make('canvas', {});
    this.backPicture = make('canvas', {hidden: true}); this.over = make('canvas', {});
    this.surface = make('div', {className: 'surface', tabIndex: 0, role: 'application', ariaLabel: title}, this.under, this.backPicture, this.picture, this.over);
    this.tools = make('div', {className: 'tools'});
    this.at = make('div', {className: 'time-at'});
    this.heading = make('h2', {}, title);
    this.element = make('section', {className: 'plot panel'}, make('div', {className: 'bar'}, this.heading, this.tools), this.surface, this.at);
    new ResizeObserver(() => this.resized()).observe(this.surface);
    new IntersectionObserver(entries => {
      this.isInView = entries.at(-1).isIntersecting;
      if (this.isInView && painter.waiting.has(this)) painter.request(this);
    }, {root: $('main'), rootMargin: '200px'}).observe(this.surface);
    this.surface.addEventListener('pointermove', e => { if (e.pointerType === 'mouse' || e.buttons) this.pointed(e); });
    this.surface.addEventListener('pointerleave', () => this.setHover(-1));
  }
  // The area of the curves, in pixels of the page.
  get box() {
    const {left, right, top, bottom} = this.margin;
    return {left, top, width: Math.max(1, this.width - left - right), height: Math.max(1, this.height - top - bottom)};
  }
  resized() {
    const width = this.surface.clientWidth, height = this.surface.clientHeight, ratio = Math.min(2, devicePixelRatio);
    if (width === 0 || (width === this.width && height === this.height && ratio === this.ratio)) return;
    Object.assign(this, {width, height, ratio});
    this.layout();
  }
  // Sizes, scales or axes are others: everything is drawn anew.
  layout() {
    if (this.width === 0) return;
    this.prepare();
    const {left, top, width, height} = this.box, {ratio} = this;
    for (const canvas of [this.under, this.over]) {
      canvas.width = this.width * ratio; canvas.height = this.height * ratio;
      canvas.style.width = this.width + 'px'; canvas.style.height = this.height + 'px';
    }
    for (const canvas of [this.picture, this.backPicture])
      Object.assign(canvas.style, {left: left + 'px', top: top + 'px', width: width + 'px', height: height + 'px'});
    for (const raster of [this.raster, this.back]) raster?.resize(Math.round(width * ratio), Math.round(height * ratio), study.n);
    this.backStale = true;
    this.drawUnder();
    this.refresh();
  }
  // Scales and places of the cases; called before anything is drawn.
  prepare() {}
  // The selection is another: the raster follows.
  refresh() { painter.request(this); this.drawOver(); }
  // Colours are others.
  recolour() {
    if (this.width === 0) return;
    this.raster.clear();
    this.backStale = true;
    this.drawUnder();
    this.refresh();
  }
  * draw() {
    if (this.width === 0) return;
    yield* this.raster.update(study.mask, colour.levels, (i, sign, level) => this.drawCase(this.raster, i, sign, level));
    this.raster.paint(this.picture, colour.table(), rgbOf(css('--axis')), this.strength());
    this.tell();
    if (this.back) yield* this.drawBack();
  }
  strength() { return strengthFor(this.raster.cases); }
  // Covers the pixels of a case in a raster.
  drawCase() {}
  * drawBack() {
    const needed = study.selected < study.n;
    this.backPicture.hidden = !needed;
    if (!needed || !this.backStale) return;
    yield* this.back.update(new Uint8Array(study.n).fill(1), null, (i, sign) => this.drawCase(this.back, i, sign, NO_COLOUR));
    this.back.paint(this.backPicture, colour.table(), rgbOf(css('--axis')), this.backStrength);
    this.backStale = false;
  }
  // What is in view, for tests and for scripts of users: the area, the ranges of its axes, the number of cases.
  tell() {
    const data = this.surface.dataset, {left, top, width, height} = this.box, range = s => [s.min, s.max].join(' ');
    data.box = [left, top, width, height].join(' ');
    if (this.scaleX) { data.x = range(this.scaleX); data.y = range(this.scaleY); }
    data.cases = this.raster.cases;
    data.changed = this.raster.changed;
  }

  //------------------------------------ axes ------------------------------------

  pen(canvas) {
    const ctx = canvas.getContext('2d');
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    ctx.clearRect(0, 0, this.width, this.height);
    ctx.font = CHART_FONT;
    ctx.lineWidth = 1;
    return ctx;
  }
  ticks(scale, pixels, room) {
    const most = Math.max(2, pixels / room), values = scale.log ? logTicks(scale.min, scale.max, most) : linearTicks(scale.min, scale.max, most);
    return {values, texts: tickTexts(values, scale.log ? 0 : values.length > 1 ? values[1] - values[0] : 0)};
  }
  // The width of the widest tick of a vertical axis.
  ticksWidth(scale) {
    const ctx = this.over.getContext('2d');
    ctx.font = CHART_FONT;
    return Math.max(0, ...this.ticks(scale, this.box.height, 34).texts.map(t => ctx.measureText(t).width));
  }
  drawUnder() { this.pen(this.under); }
  drawAxes(x, y, labelX, labelY) {
    const ctx = this.pen(this.under), {left, top, width, height} = this.box, bottom = top + height;
    const [grid, axis, dim] = ['--grid', '--axis', '--dim'].map(css);
    const across = this.ticks(x, width, 70), up = this.ticks(y, height, 34);
    const line = (x0, y0, x1, y1, style) => { ctx.strokeStyle = style; ctx.beginPath(); ctx.moveTo(x0, y0); ctx.lineTo(x1, y1); ctx.stroke(); };
    ctx.fillStyle = dim;
    ctx.textAlign = 'center'; ctx.textBaseline = 'top';
    across.values.forEach((v, i) => {
      const at = Math.round(left + x.part(v) * width) + 0.5;
      line(at, top, at, bottom, grid);
      ctx.fillText(across.texts[i], at, bottom + 5);
    });
    ctx.textAlign = 'right'; ctx.textBaseline = 'middle';
    up.values.forEach((v, i) => {
      const at = Math.round(bottom - y.part(v) * height) + 0.5;
      line(left, at, left + width, at, grid);
      ctx.fillText(up.texts[i], left - 6, at);
    });
    line(left + 0.5, top, left + 0.5, bottom, axis);
    line(left, bottom + 0.5, left + width, bottom + 0.5, axis);
    ctx.textAlign = 'center'; ctx.textBaseline = 'alphabetic';
    ctx.fillText(this.clipped(ctx, labelX, width), left + width / 2, this.height - 4);
    ctx.save();
    ctx.translate(12, top + height / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText(this.clipped(ctx, labelY, height), 0, 0);
    ctx.restore();
  }
  clipped(ctx, text, room) {
    if (ctx.measureText(text).width <= room) return text;
    let n = text.length;
    while (n > 1 && ctx.measureText(text.slice(0, n) + '…').width > room) n--;
    return text.slice(0, n) + '…';
  }

  //------------------------------------ single cases ------------------------------------

  // Cases that were clicked, and the one below the mouse.
  drawOver() {
    if (this.width === 0) return;
    const ctx = this.pen(this.over);
    this.drawMarks(ctx);
    app.pinned.forEach((i, k) => this.drawSingle(ctx, i, pinColour(k), 2.6));
    if (this.hover >= 0 && !app.pinned.includes(this.hover)) this.drawSingle(ctx, this.hover, css('--ink'), 2);
  }
  drawMarks() {}
  drawSingle() {}
  place(e) { const r = this.surface.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; }
  pointed(e) { this.setHover(this.nearest(...this.place(e))); }
  nearest() { return -1; }
  setHover(i) {
    if (i === this.hover) return;
    this.hover = i;
    this.at.textContent = i >= 0 ? this.textOf(i) : this.idleText();
    this.drawOver();
  }
  idleText() { return ''; }
  textOf(i) { return 'case ' + i; }

  // A press that ends where it began is a click.
  bindClicks() {
    let pressed = null;
    this.surface.addEventListener('pointerdown', e => { pressed = e.isPrimary && e.button === 0 ? [e.clientX, e.clientY] : null; });
    this.surface.addEventListener('pointerup', e => {
      if (!pressed || Math.hypot(e.clientX - pressed[0], e.clientY - pressed[1]) > 4) return;
      const i = this.nearest(...this.place(e));
      if (i >= 0) app.pin(i, e.shiftKey || e.ctrlKey || e.metaKey);
    });
  }
  picturePng() {
    const canvas = make('canvas', {width: this.under.width, height: this.under.height}), ctx = canvas.getContext('2d'), {left, top, width, height} = this.box;
    ctx.fillStyle = css('--bg');
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.drawImage(this.under, 0, 0);
    for (const layer of [this.backPicture, this.picture])
      if (!layer.hidden) ctx.drawImage(layer, left * this.ratio, top * this.ratio, width * this.ratio, height * this.ratio);
    ctx.drawImage(this.over, 0, 0);
    canvas.toBlob(blob => save(fileName() + '.png', 'image/png', [blob]));
  }
}

const fileName = () => (DATA.title || 'study').replace(/\.[^.]*$/, '').replace(/[^\w.-]+/g, '_');

// Of the cases that were clicked; the quantiles have the first colour.
const pinColour = k => css('--c' + (k + 1) % COLOURS);

// A choice of one of several, with a label that is read aloud and, with `shown`, seen.
function choice(label, options, value, change, shown = false) {
  const select = make('select', {ariaLabel: label, onchange: () => change(select.value)});
  for (const [key, text] of options) select.append(make('option', {value: key}, text));
  select.value = value;
  return shown ? make('label', {}, label, select) : select;
}
const switched = (text, on, title, click) => make('button', {ariaPressed: String(on), title, onclick: click}, text);
