// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The page as a whole: its plots, which of them is active, the zoom they share.

const $ = id => document.getElementById(id);

const app = {
  plots: [], active: null, events: true, linked: true, live: false,

  isDrawn(name) { return this.active?.has(name) ?? false; },
  draw(name, on) {
    if (!this.active) this.add(new Plot('time'));
    if (on) this.active.add(name); else this.active.remove(name);
    this.active.show();
  },
  add(plot) {
    this.plots.push(plot);
    $('plots').append(plot.element);
    plot.show();
    this.activate(plot);
    return plot;
  },
  remove(plot) {
    const i = this.plots.indexOf(plot);
    this.plots.splice(i, 1);
    plot.u?.destroy();
    plot.element.remove();
    const next = this.plots[Math.min(i, this.plots.length - 1)] ?? null;
    this.activate(next);
    (next?.surface ?? $('add-time')).focus();
  },
  activate(plot) {
    if (this.active === plot) return;
    this.active = plot;
    for (const p of this.plots) p.element.classList.toggle('active', p === plot);
    tree.mark();
  },
  together(plot) { return this.linked && !plot.phase ? this.plots.filter(p => !p.phase) : [plot]; },
  setRange(plot, x, y) {
    for (const p of this.together(plot)) p.x = x;
    if (y) plot.y = Object.keys(y).length > 0 ? y : plot.y;
    for (const p of this.together(plot)) p.redraw();
  },
  resetZoom(plot) { for (const p of this.together(plot)) p.reset(); },
  point(plot, t) {
    for (const p of this.plots) {
      if (p === plot) p.values(t); else if (this.linked && !plot.phase) p.follow(t);
    }
  },
  theme(dark) {
    document.documentElement.classList.toggle('dark', dark);
    for (const p of this.plots) p.show();
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
  const wanted = DATA.show ?? [...variables.keys()].filter(name => variables.get(name).some(c => !c.still));
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
  const parts = [files, ...(DATA.report ?? [])].map(part => {
    const section = make('section', {}, make('h3', {}, part.title));
    if (part.text !== undefined) section.append(make('pre', {}, part.text));
    if (part.rows) {
      const table = make('table', {});
      if (part.head) table.append(make('tr', {}, ...part.head.map(h => make('th', {scope: 'col'}, h))));
      for (const row of part.rows) {
        table.append(make('tr', {}, ...row.map((v, i) => i === 0 && !part.head ? make('th', {scope: 'row'}, String(v))
          : make('td', {className: typeof v === 'number' && part.head ? 'number' : ''}, v === null ? '–' : String(v)))));
      }
      section.append(table);
    }
    return section;
  });
  $('report').replaceChildren(make('h2', {}, 'Run report'), make('div', {className: 'parts'}, ...parts), make('p', {}, 'Made by couplet ' + DATA.version + '.'));
}

function toggle(button, part, fill) {
  $(part).hidden = !$(part).hidden;
  button.setAttribute('aria-expanded', String(!$(part).hidden));
  if (!$(part).hidden) { fill?.(); $(part).scrollIntoView({block: 'nearest'}); }
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
  $('theme').addEventListener('click', () => app.theme(!document.documentElement.classList.contains('dark')));
  $('show-report').addEventListener('click', e => toggle(e.currentTarget, 'report', fillReport));
  $('show-help').addEventListener('click', e => toggle(e.currentTarget, 'help'));
  const drawer = open => { $('side').classList.toggle('open', open); $('menu').setAttribute('aria-expanded', String(open)); };
  $('menu').addEventListener('click', () => { drawer(!$('side').classList.contains('open')); $('search').focus(); });
  $('main').addEventListener('pointerdown', () => drawer(false));
  document.addEventListener('keydown', e => {
    if (e.key === 'Escape') drawer(false);
    if (e.ctrlKey || e.altKey || e.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)) return;
    if (e.key === '/') { e.preventDefault(); if (innerWidth < 760) drawer(true); $('search').focus(); }
    if (e.key === 'n') app.add(new Plot('time')).surface.focus();
  });
  const dark = matchMedia('(prefers-color-scheme: dark)');
  app.theme(dark.matches);
  dark.addEventListener('change', () => app.theme(dark.matches));
}

wire();
if (DATA.live) startLive();
else {
  tree.show();
  firstPlots();
  tree.mark();
}
