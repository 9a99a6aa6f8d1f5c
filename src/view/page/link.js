// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A link that restores the view: all of it is in the fragment of the address, as JSON in the URL-safe form of base64. Results are
// named and numbered, so that a link also fits a page of later results. What a link says comes from others and is checked.

const LINK = '#view=', MAX_LINK = 1 << 20, MAX_PLOTS = 200, MAX_CURVES = 2000;

function encodeView() {
  const bytes = new TextEncoder().encode(JSON.stringify(viewState()));
  let raw = '';
  for (const b of bytes) raw += String.fromCharCode(b);
  return LINK + btoa(raw).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

function decodeView(hash) {
  if (hash.length > MAX_LINK) throw new Error('too long');
  const bytes = bytesOf(atobPadded(hash.slice(LINK.length)));
  return JSON.parse(new TextDecoder('utf-8', {fatal: true}).decode(bytes));
}

function atobPadded(text) {
  const plain = decodeURIComponent(text).replace(/-/g, '+').replace(/_/g, '/');
  return plain + '='.repeat((4 - plain.length % 4) % 4);
}

//------------------------------------ what it holds ------------------------------------

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

const isRange = r => Array.isArray(r) && r.length === 2 && r.every(Number.isFinite) && r[0] < r[1];

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
    app.notice('The link cannot be read (was it cut off?): this is the usual view.');
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
  if (names.length > 0) app.notice('Not in these results: ' + names.slice(0, 8).join(', ') + (names.length > 8 ? ' and ' + (names.length - 8) + ' more' : ''));
  return true;
}

//------------------------------------ the button ------------------------------------

// A page of another machine without encryption has no clipboard; a selected field can still be copied from.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (e) {
    const field = make('textarea', {className: 'off-screen', value: text, readOnly: true}), before = document.activeElement;
    document.body.append(field);
    field.select();
    const copied = document.execCommand('copy');
    field.remove();
    before?.focus();
    return copied;
  }
}

async function copyLink() {
  const hash = encodeView();
  history.replaceState(null, '', hash); // the address of the page is the link, too
  const copied = await copyText(location.href.replace(/#.*$/, '') + hash);
  app.notice(copied ? 'The link to this view is copied.' : 'The address of the page is now the link to this view.');
}

function bindLink() {
  $('copy-link').addEventListener('click', copyLink);
  addEventListener('hashchange', () => restoreView(location.hash));
}
