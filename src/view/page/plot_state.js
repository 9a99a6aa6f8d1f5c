// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The view of a page of results as data, for a link (link.js), and the reverse. Results are named and numbered, so that a link also
// fits a page of later results. What a link says comes from others and is checked.

const MAX_PLOTS = 200, MAX_CURVES = 2000;

function viewState() {
  return {
    version: 1, files: results.map(r => r.name), linked: app.linked, events: app.events, active: app.plots.indexOf(app.active), pin: app.pin,
    plots: app.plots.map(p => ({
      kind: p.kind, axes: p.axes, logX: p.log.x, logY: p.log.y, x: p.x, y: p.y,
      ...(p.phase ? {across: p.across} : {}), ...(p.spectral ? {window: p.window, span: p.span} : {}),
      curves: p.curves.map(curveState),
    })),
  };
}

function curveState(c) {
  const file = c.derived ? c.bound?.index ?? -1 : c.result.index;
  return {...(c.derived ? {expression: c.text} : {name: c.column.name, difference: c.difference || undefined}), file, colour: c.colour,
    hidden: c.visible ? undefined : true};
}

// A result by its name, else by its number.
function resultOf(state, file) {
  if (!Number.isInteger(file)) return undefined;
  return resultNames.get(Array.isArray(state.files) ? state.files[file] : '') ?? results[file];
}

// The curve a link describes; null where these results do not have it.
function curveOf(state, said) {
  const result = said.file === -1 ? null : resultOf(state, said.file);
  let curve = null;
  if (typeof said.expression === 'string') {
    try {
      curve = derivedCurves(said.expression).find(c => c.bound === result || c.bound === null) ?? null;
    } catch (e) {
      if (!(e instanceof ExpressionError)) throw e;
    }
  } else {
    const column = result?.byName.get(said.name), possible = !said.difference || (result?.index > 0 && results[0].byName.has(said.name));
    if (column && possible) curve = new Curve(column, said.difference === true);
  }
  if (!curve) return null;
  return Object.assign(curve, {colour: Number.isInteger(said.colour) && said.colour >= 0 ? said.colour : 0, visible: said.hidden !== true});
}

function plotOf(state, said, missing) {
  const plot = new Plot(Object.hasOwn(PLOT_KINDS, said.kind) ? said.kind : 'time');
  if (['unit', 'one', 'each'].includes(said.axes)) plot.axes = said.axes;
  plot.log = {x: said.logX === true, y: said.logY === true};
  if (isRange(said.x)) plot.x = said.x;
  for (const [key, range] of Object.entries(said.y ?? {})) if (isRange(range)) plot.y[key] = range;
  if (variables.has(said.across)) plot.across = said.across;
  else if (said.across) missing.add(String(said.across));
  if (typeof said.window === 'string' && Object.hasOwn(WINDOWS, said.window)) plot.window = said.window;
  if (isRange(said.span)) plot.span = said.span;
  for (const one of Array.isArray(said.curves) ? said.curves.slice(0, MAX_CURVES) : []) {
    const curve = curveOf(state, one);
    if (curve && !plot.curves.some(c => c.key === curve.key)) plot.curves.push(curve);
    else if (!curve) missing.add(String(one.expression ?? one.name));
  }
  return plot;
}

// Returns whether there was a view to restore.
function restoreView(hash) {
  if (!hash.startsWith(LINK)) return false;
  const missing = new Set();
  let state, plots;
  try {
    state = decodeView(hash);
    plots = state.plots.slice(0, MAX_PLOTS).map(p => plotOf(state, p, missing));
  } catch (e) {
    notice('The link cannot be read (was it cut off?): this is the usual view.');
    return false;
  }
  app.clear();
  app.linked = $('link').checked = state.linked !== false;
  app.events = $('events').checked = state.events !== false;
  for (const plot of plots) app.add(plot);
  app.activate(app.plots[state.active] ?? app.plots[0] ?? null);
  const {pin} = state;
  app.setPin(pin && ['time', 'spectrum'].includes(pin.kind) && Number.isFinite(pin.x) ? {kind: pin.kind, x: pin.x} : null);
  tree.mark();
  const names = [...missing];
  if (names.length > 0) notice('Not in these results: ' + names.slice(0, 8).join(', ') + (names.length > 8 ? ' and ' + (names.length - 8) + ' more' : ''));
  return true;
}
