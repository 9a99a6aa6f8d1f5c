// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The view of a study as data, for a link (link.js), and the reverse. Columns and curves are named, so that a link also fits the page of
// another study. What a link says comes from others and is checked.

const MOST_PANELS = 40, MOST_PINNED = 8;

function viewState() {
  return {
    version: 1, study: true, colour: colour.column?.name ?? null, axes: app.parallel.axes.map(c => c.name), log: study.columns.filter(c => c.log).map(c => c.name),
    brushes: study.brushed.map(c => [c.name, ...c.brush]), pinned: app.pinned, influence: app.influence.measure?.name,
    panels: app.panels.map(p => p.kind === 'scatter' ? {kind: p.kind, x: p.columnX.name, y: p.columnY.name}
      : {kind: p.kind, curve: p.curve.name, mode: p.mode, log: p.log || undefined, x: p.x ?? undefined, y: p.y ?? undefined}),
  };
}

const listOf = v => Array.isArray(v) ? v : [];

function panelOf(said, missing) {
  const column = name => study.find(name) ?? (missing.add(String(name)), null);
  if (said?.kind === 'scatter') {
    const x = column(said.x), y = column(said.y);
    return x && y ? new Scatter(x, y) : null;
  }
  if (said?.kind !== 'curves') return null;
  const curve = study.curves.find(c => c.name === said.curve);
  if (!curve) { missing.add(String(said.curve)); return null; }
  const panel = new CaseCurves(curve, Object.hasOwn(CURVE_MODES, said.mode) ? said.mode : 'curves');
  Object.assign(panel, {log: said.log === true, x: isRange(said.x) ? said.x : null, y: isRange(said.y) ? said.y : null});
  panel.fillTools();
  return panel;
}

// Returns whether there was a view to restore.
function restoreView(hash) {
  if (!hash.startsWith(LINK)) return false;
  const missing = new Set(), known = name => study.find(name) ?? (missing.add(String(name)), null);
  let state;
  try {
    state = decodeView(hash);
    if (state?.study !== true) throw new Error('of another page');
  } catch (e) {
    notice('The link cannot be read (was it cut off, or is it of another page?): this is the usual view.');
    return false;
  }
  const axes = [...new Set(listOf(state.axes).map(known).filter(c => c))], panels = listOf(state.panels).slice(0, MOST_PANELS).map(p => panelOf(p, missing)).filter(p => p);
  if (axes.length + panels.length === 0) {
    notice('Nothing that the link shows is in this study: this is the usual view.');
    return false;
  }
  const logs = new Set(listOf(state.log));
  for (const c of study.columns) { c.log = logs.has(c.name); c.brush = null; }
  for (const said of listOf(state.brushes)) {
    const column = Array.isArray(said) ? known(said[0]) : null;
    if (column) column.brush = brushOf(said.slice(1));
  }
  app.pinned = [...new Set(listOf(state.pinned))].filter(i => Number.isInteger(i) && i >= 0 && i < study.n).slice(0, MOST_PINNED);
  colour.column = typeof state.colour === 'string' ? known(state.colour) : null;
  const measure = study.measures.find(m => m.name === state.influence);
  if (measure) app.influence.measure = measure;
  app.show(axes, panels);
  const names = [...missing];
  if (names.length > 0) notice('Not in this study: ' + names.slice(0, 8).join(', ') + (names.length > 8 ? ' and ' + (names.length - 8) + ' more' : ''));
  return true;
}
