// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The page of a study as a whole: its panels, and what all of them share (brushes, colours, clicked cases).

const MOST_AXES = 10;

const announce = text => { $('announce').textContent = text; };

const app = {
  pinned: [], panels: [],

  get charts() { return [this.parallel, ...this.panels]; },

  // All at once: brushes of some columns, each a range or null.
  brushes(list) {
    for (const [column, range] of list) column.brush = range === null ? null : brushOf(range);
    study.select();
    for (const c of this.charts) c.refresh();
    painter.request(statistics);
    side.showSelection();
  },
  brush(column, range) { this.brushes([[column, range]]); },
  colourBy(column) {
    colour.column = column;
    colour.update();
    for (const c of this.charts) c.recolour();
    side.showColours();
  },
  setLog(column, on) {
    column.log = on;
    if (colour.column === column) colour.update();
    for (const c of this.charts) c.layout();
    side.showColours();
    side.showAxes();
  },
  // A clicked case is shown everywhere; `more`: next to others, or no longer.
  pin(i, more) {
    const has = this.pinned.includes(i);
    if (more) this.pinned = has ? this.pinned.filter(k => k !== i) : [...this.pinned, i].slice(-MOST_PINNED);
    else this.pinned = has && this.pinned.length === 1 ? [] : [i];
    this.showPins();
    if (this.pinned.length > 0 && innerWidth < 760 && !$('side').classList.contains('open')) notice('Case ' + this.pinned.join(', ') + ': its numbers are in the menu “Cases”.');
  },
  clearPins() { this.pinned = []; this.showPins(); },
  showPins() {
    side.showCases();
    document.documentElement.dataset.pinned = this.pinned.join(' ');
    for (const c of this.charts) c.drawOver();
  },

  //------------------------------------ axes and panels ------------------------------------

  toggleAxis(column) {
    const {axes} = this.parallel;
    this.parallel.setAxes(axes.includes(column) ? axes.filter(c => c !== column) : [...axes, column]);
  },
  moveAxis(column, to, focus) {
    const axes = this.parallel.axes.filter(c => c !== column), at = Math.min(axes.length, Math.max(0, to));
    axes.splice(at, 0, column);
    this.parallel.setAxes(axes);
    if (focus) this.parallel.heads.children[at].focus();
  },
  addPanel(panel) {
    this.panels.push(panel);
    $('panels').insertBefore(panel.element, this.influence.element.parentNode === $('panels') ? this.influence.element : null);
    panel.resized();
    return panel;
  },
  removePanel(panel) {
    const i = this.panels.indexOf(panel);
    this.panels.splice(i, 1);
    panel.element.remove();
    painter.waiting.delete(panel);
    (this.panels[Math.min(i, this.panels.length - 1)]?.surface ?? $('add-scatter')).focus();
  },
  // A whole view: the axes of the parallel coordinates, and charts.
  show(axes, panels) {
    for (const p of this.panels) { p.element.remove(); painter.waiting.delete(p); }
    this.panels = [];
    study.select();
    colour.update();
    this.parallel.setAxes(axes);
    this.parallel.recolour();
    for (const p of panels) this.addPanel(p);
    this.influence.show();
    this.showPins();
    painter.request(statistics);
    side.show();
  },
};

//------------------------------------ the first look ------------------------------------

// Factors with the largest influence on the first measure that has any, first.
function ranked() {
  const said = study.measures.map(m => m.said.influence).find(i => i?.values.some(v => v !== null)), {factors} = study;
  if (!said) return factors;
  const n = said.columns.length, size = f => Math.abs(said.values[f * n + METHODS[said.method].rank] ?? 0);
  return factors.map((c, f) => [c, size(f)]).sort((a, b) => b[1] - a[1]).map(([c]) => c);
}
const varies = c => c.range[0] < c.range[1];

function firstLook() {
  const wanted = DATA.show ? study.columns.filter(c => DATA.show.includes(c.name)) : [], first = ranked();
  for (const c of study.columns) c.log = c.seemsLog;
  const measures = study.measures.filter(varies), most = new Set(first.filter(varies).slice(0, MOST_AXES - Math.min(4, measures.length)));
  const axes = wanted.length > 1 ? wanted : [...study.factors.filter(c => most.has(c)), ...measures.slice(0, 4)];
  const shownMeasures = wanted.filter(c => c.role === 'measure'), y = shownMeasures[0] ?? measures[0] ?? study.measures[0];
  const x = wanted.find(c => c.role === 'factor') ?? first[0];
  colour.column = x && varies(x) ? x : null;
  if (y) app.influence.measure = y;
  const panels = (DATA.show ? study.curves.filter(c => DATA.show.includes(c.name)) : study.curves.slice(0, 1)).slice(0, 4)
    .map(c => new CaseCurves(c, 'curves'));
  if (panels.length > 0) panels.push(new CaseCurves(panels[0].curve, 'fan'));
  const pair = DATA.xy ? DATA.xy.map(name => study.find(name)) : [x ?? y, y ?? x], [a, b] = pair;
  if (a && b) panels.push(new Scatter(a, b));
  app.show(axes.length > 0 ? axes : study.columns.slice(0, MOST_AXES), panels);
}

function fillReport() {
  const facts = DATA.facts.filter(([name]) => name !== 'study'), whole = DATA.facts.find(([name]) => name === 'study');
  const parts = [{title: 'Study', rows: [...facts.map(([name, v]) => [name.replace(/_/g, ' '), /^(start|stop)_time$/.test(name) ? v + ' s' : v]), ['cases', study.n], ['failed', study.reasons.size],
    ...(study.curves.length > 0 ? [['curves', study.curves.length + ' at ' + study.times.length + ' times']] : [])]},
  {title: 'Columns', head: ['name', 'role', 'unit', 'from', 'to', 'definition'], rows: study.columns.map(c => [c.name, c.role, c.unit, +short(c.range[0]), +short(c.range[1]), c.text])},
  ...(whole ? [{title: 'What distinguishes it from other studies', text: String(whole[1])}] : [])];
  $('report').replaceChildren(make('h2', {}, 'About the study'), make('div', {className: 'parts'}, ...parts.map(reportSection)), make('p', {}, 'Made by couplet ' + DATA.version + '.'));
}

//------------------------------------ wiring ------------------------------------

function wire() {
  $('title').textContent = DATA.title;
  app.parallel = new Parallel();
  app.influence = new Influence();
  $('top').append(app.parallel.element);
  if (study.measures.length > 0) { $('panels').append(app.influence.element); $('bottom').append(statistics.element); }
  $('add-scatter').addEventListener('click', () => { app.addPanel(new Scatter(study.factors[0] ?? study.columns[0], study.measures[0] ?? study.columns[0])).element.scrollIntoView({block: 'nearest'}); });
  $('add-scatter').disabled = study.columns.length === 0;
  $('add-curves').addEventListener('click', () => app.addPanel(new CaseCurves(study.curves[0])).element.scrollIntoView({block: 'nearest'}));
  $('add-curves').hidden = study.curves.length === 0;
  $('show-report').addEventListener('click', e => toggle(e.currentTarget, 'report', fillReport));
  $('show-help').addEventListener('click', e => toggle(e.currentTarget, 'help'));
  $('menu').addEventListener('click', () => drawer(!$('side').classList.contains('open')));
  $('main').addEventListener('pointerdown', () => drawer(false));
  document.addEventListener('keydown', e => {
    if (e.key === 'Escape') { drawer(false); app.clearPins(); }
    if (e.ctrlKey || e.altKey || e.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)) return;
    if (e.key === '/') { e.preventDefault(); if (innerWidth < 760) drawer(true); $('search').focus(); }
  });
  side.bind();
  side.showFailures();
  bindLink();
  if (!restoreView(location.hash)) firstLook();
  followTheme(() => {
    for (const c of app.charts) c.recolour();
    painter.request(statistics);
    app.influence.show();
    side.show();
  });
}

wire();
