// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The page as a whole: its plots, which of them is active, the zoom they share.

const MIN_HEIGHT = {narrow: 170, wide: 180}; // of the area of axes and curves

const app = {
  plots: [], active: null, events: true, linked: true, live: false, pin: null,

  drawnOf(name) {
    const columns = variables.get(name).filter(c => !tree.result || c.result === tree.result);
    return {drawn: columns.filter(c => this.active?.has(name, c.result)).length, all: columns.length};
  },
  draw(name, on) {
    if (!this.active) this.add(new Plot('time'));
    if (on) this.active.add(name, tree.result); else this.active.remove(name, tree.result);
    this.active.show();
    tree.mark();
  },
  add(plot) {
    this.plots.push(plot);
    $('plots').append(plot.element);
    plot.show();
    this.activate(plot);
    return plot;
  },
  // The amplitudes of curves of a plot, in the time that it shows.
  addSpectrum(plot, curves) {
    const copies = curves.map(c => Object.assign(c.derived ? new DerivedCurve(c.text, c.tree, c.bound) : new Curve(c.column, c.difference), {colour: c.colour}));
    const made = Object.assign(new Plot('spectrum'), {curves: copies, axes: plot.axes, span: plot.kind === 'spectrum' ? plot.span : plot.x});
    this.add(made).element.scrollIntoView({block: 'nearest'});
  },
  remove(plot) {
    const i = this.plots.indexOf(plot);
    this.plots.splice(i, 1);
    plot.u?.destroy();
    plot.element.remove();
    this.layout();
    this.align();
    const next = this.plots[Math.min(i, this.plots.length - 1)] ?? null;
    this.activate(next);
    (next?.surface ?? $('add-time')).focus();
  },
  clear() {
    for (const p of this.plots) { p.u?.destroy(); p.element.remove(); }
    Object.assign(this, {plots: [], active: null, pin: null});
  },
  activate(plot) {
    if (this.active === plot) return;
    this.active = plot;
    for (const p of this.plots) p.element.classList.toggle('active', p === plot);
    tree.mark();
  },

  //------------------------------------ zoom and cursor ------------------------------------

  together(plot) { return this.linked && !plot.phase ? this.plots.filter(p => p.kind === plot.kind) : [plot]; },
  setRange(plot, x, y) {
    for (const p of this.together(plot)) p.x = x;
    if (y) plot.y = Object.keys(y).length > 0 ? y : plot.y;
    for (const p of this.together(plot)) p.redraw();
  },
  resetZoom(plot) { for (const p of this.together(plot)) p.reset(); },
  // The range of time that plots were zoomed to; null: all of it.
  timeInView() { return (this.active?.kind === 'time' ? this.active : this.plots.find(p => p.kind === 'time'))?.rangeX() ?? null; },
  point(plot, x) {
    for (const p of this.plots) {
      if (p === plot) p.values(x); else if (this.linked && !plot.phase && p.kind === plot.kind) p.follow(x);
    }
  },
  // {kind, x}: the cursor of all plots of a kind stays there.
  setPin(pin) {
    this.pin = pin;
    for (const p of this.plots) { p.values(p.shown); p.showPin(); }
  },

  //------------------------------------ sizes ------------------------------------

  // As many plots as fit share the height of the window; the others follow below with the same height.
  layout() {
    const main = $('main'), style = getComputedStyle(main), gap = 12;
    const room = main.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom) + gap;
    const least = innerWidth < 760 ? MIN_HEIGHT.narrow : MIN_HEIGHT.wide, around = p => p.element.offsetHeight - p.surface.offsetHeight + gap;
    let fit = 0, used = 0;
    for (const p of this.plots) {
      if (fit > 0 && used + around(p) + least > room) break;
      used += around(p) + least;
      fit++;
    }
    const each = fit > 0 ? least + Math.max(0, Math.floor((room - used) / fit)) : least;
    for (const p of this.plots) {
      const round = Math.min(460, Math.max(260, p.surface.clientWidth * 0.6)); // a path in the plane is not flat
      const height = p.phase ? Math.max(each, Math.min(round, Math.max(least, room - around(p)))) : each;
      if (p.height === height && p.surface.style.minHeight) continue;
      p.height = height;
      p.surface.style.minHeight = height + 'px';
      if (p.u) p.resize();
    }
  },
  // Plots over time and over frequency have the same room left and right of their curves, so that times stand below each other.
  margins: {left: 0, right: 0},
  marginOf(plot, side) {
    const least = side === 'left' ? 4 : 18;
    return plot.phase ? least : least + Math.max(0, this.margins[side] - plot.margins[side]);
  },
  align() {
    const stacked = this.plots.filter(p => p.u && !p.phase);
    const widest = side => Math.max(0, ...stacked.map(p => p.margins[side])), left = widest('left'), right = widest('right');
    this.margins = {left, right};
    for (const p of stacked) {
      if (p.u._padding[1] !== this.marginOf(p, 'right') || p.u._padding[3] !== this.marginOf(p, 'left')) p.u.redraw(false, true);
    }
  },
};

//------------------------------------ the first look ------------------------------------

// One plot a unit, of what was asked for, else of what changes.
function firstPlots() {
  const MOST = DATA.show ? 24 : 6;
  if (DATA.xy) {
    const plot = new Plot('phase');
    plot.across = DATA.xy[0];
    plot.add(DATA.xy[1]);
    app.add(plot);
  }
  const wanted = DATA.show ? [...new Set(DATA.show)] : [...variables.keys()].filter(name => variables.get(name).some(c => !c.still));
  const groups = [];
  for (const name of wanted.length > 0 || DATA.show ? wanted : [...variables.keys()].slice(0, COLOURS)) {
    const unit = variables.get(name)[0].unit;
    let group = groups.find(g => g.unit === unit && g.names.length < COLOURS);
    if (!group && groups.length < MOST) groups.push(group = {unit, names: []});
    group?.names.push(name);
  }
  for (const group of groups) {
    const plot = new Plot('time');
    for (const name of group.names) plot.add(name);
    app.add(plot);
  }
  if (app.plots.length === 0) app.add(new Plot('time'));
  app.activate(app.plots[0]);
}

//------------------------------------ the report ------------------------------------

function fillReport() {
  const files = {title: 'Results', head: ['file', 'rows', 'variables', 'events'],
    rows: results.map(r => [r.name, r.rows, r.columns.length, r.events.length])};
  const parts = [files, ...(DATA.report ?? [])].map(reportSection);
  $('report').replaceChildren(make('h2', {}, 'Run report'), make('div', {className: 'parts'}, ...parts), make('p', {}, 'Made by couplet ' + DATA.version + '.'));
}

//------------------------------------ wiring ------------------------------------

function wire() {
  $('title').textContent = DATA.title;
  $('search').addEventListener('input', () => tree.show());
  $('add-time').addEventListener('click', () => app.add(new Plot('time')).surface.scrollIntoView({block: 'nearest'}));
  $('add-phase').addEventListener('click', () => app.add(new Plot('phase')).surface.scrollIntoView({block: 'nearest'}));
  $('reset').addEventListener('click', () => { for (const p of app.plots) p.reset(); });
  $('link').addEventListener('change', e => { app.linked = e.target.checked; });
  $('events').addEventListener('change', e => { app.events = e.target.checked; for (const p of app.plots) p.redraw(); });
  $('show-report').addEventListener('click', e => toggle(e.currentTarget, 'report', fillReport));
  $('show-help').addEventListener('click', e => toggle(e.currentTarget, 'help'));
  $('menu').addEventListener('click', () => { drawer(!$('side').classList.contains('open')); $('search').focus(); });
  $('main').addEventListener('pointerdown', () => drawer(false));
  document.addEventListener('keydown', e => {
    if (e.key === 'Escape') drawer(false);
    if (e.ctrlKey || e.altKey || e.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)) return;
    if (e.key === '/') { e.preventDefault(); if (innerWidth < 760) drawer(true); $('search').focus(); }
    if (e.key === 'n') app.add(new Plot('time')).surface.focus();
  });
  tree.bind();
  bindExpressionField();
  bindLink();
  new ResizeObserver(() => app.layout()).observe($('main'));
  followTheme(() => { for (const p of app.plots) p.show(); });
}

// The view that the address describes, else the usual one. Returns it as it would be in a link.
function firstView() {
  tree.show();
  if (!restoreView(location.hash)) firstPlots();
  tree.mark();
  return encodeView();
}

wire();
if (DATA.live) startLive(); else firstView();
