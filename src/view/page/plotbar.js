// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The elements around a plot: its tools, and a chip for each curve with its name, its value at the cursor and its menu.

function chooser(label, options, value, change) {
  const select = make('select', {onchange: () => change(select.value)});
  select.setAttribute('aria-label', label);
  for (const [key, text] of options) select.append(make('option', {value: key}, text));
  select.value = value;
  return select;
}

const switchButton = (text, on, title, click) => make('button', {ariaPressed: String(on), title, onclick: click}, text);

// A sample of the line of a curve.
function lineSample(curve) {
  const space = 'http://www.w3.org/2000/svg', line = document.createElementNS(space, 'svg'), path = document.createElementNS(space, 'path');
  path.setAttribute('d', 'M0 4H20');
  path.setAttribute('stroke', colourOf(curve));
  path.setAttribute('stroke-width', '2.5');
  path.setAttribute('stroke-dasharray', dashOf(curve).join(' '));
  line.setAttribute('aria-hidden', 'true');
  line.append(path);
  return line;
}

Object.assign(Plot.prototype, {
  build() {
    this.chips = make('div', {className: 'chips'});
    this.tools = make('div', {className: 'tools'});
    this.surface = make('div', {className: 'surface', tabIndex: 0, role: 'application'});
    this.surface.setAttribute('aria-label', PLOT_KINDS[this.kind]);
    this.at = make('div', {className: 'time-at'});
    this.bar = make('div', {className: 'bar'}, this.tools, this.chips); // chips flow around the tools
    this.element = make('section', {className: 'plot'}, this.bar, this.surface, this.at);
    this.element.addEventListener('pointerdown', () => app.activate(this));
    this.element.addEventListener('focusin', () => app.activate(this));
    bindGestures(this);
    bindKeys(this);
    new ResizeObserver(() => this.resize()).observe(this.surface);
    new ResizeObserver(() => app.layout()).observe(this.bar);
    new IntersectionObserver(([entry]) => this.cameIntoView(entry.isIntersecting), {rootMargin: '150px'}).observe(this.surface);
  },

  fillTools() {
    const parts = [];
    if (this.phase) {
      parts.push(chooser('Variable across', [['', 'across: choose'], ...[...variables.keys()].map(n => [n, 'across: ' + n])], this.across,
        name => { this.across = name; this.x = null; this.y = {}; this.show(); }));
    }
    if (this.spectral) {
      parts.push(chooser('Window', Object.entries(WINDOWS).map(([key, [text]]) => [key, text]), this.window,
        window => { this.window = window; this.y = {}; this.show(); }));
      parts.push(chooser('Time of the spectrum', [['all', 'whole time'], ['view', 'time in view'],
        ...(this.span ? [['kept', short(this.span[0]) + ' s to ' + short(this.span[1]) + ' s']] : [])], this.span ? 'kept' : 'all',
      what => {
        if (what !== 'kept') this.span = what === 'view' ? app.timeInView() : null;
        this.x = null;
        this.y = {};
        this.show();
      }));
    }
    parts.push(chooser('Axes', [['unit', 'axis per unit'], ['one', 'one axis'], ['each', 'axis each']], this.axes,
      axes => { this.axes = axes; this.y = {}; this.show(); }));
    for (const way of ['x', 'y']) {
      parts.push(switchButton('log ' + way, this.log[way], (way === 'x' ? 'Horizontal' : 'Vertical') + ' axis logarithmic or linear', () => this.toggleLog(way)));
    }
    if (this.kind === 'time') parts.push(make('button', {title: 'Amplitudes over frequency, of the time in view', onclick: () => app.addSpectrum(this, this.drawn)}, 'Spectrum'));
    if (results.length > 1 && this.kind === 'time') {
      const on = this.curves.some(c => c.difference);
      parts.push(make('button', {ariaPressed: String(on), onclick: () => this.toggleDifference()}, on ? 'No difference' : 'Difference'));
    }
    parts.push(chooser('Export', [['', 'Export'], ['svg', 'picture (SVG)'], ['png', 'picture (PNG)'], ['csv', 'shown data (CSV)']], '',
      what => { if (what) exportPlot(this, what); this.tools.querySelector('[aria-label=Export]').value = ''; }));
    parts.push(make('button', {onclick: () => app.remove(this), ariaLabel: 'Remove plot'}, '✕'));
    this.keepFocus(this.tools, () => this.tools.replaceChildren(...parts));
  },
  toggleLog(way) {
    this.log[way] = !this.log[way];
    if (way === 'y') this.y = {};
    else if (this.phase) this.x = null;
    this.show();
  },
  // The element at the same place has the focus after a change.
  keepFocus(parent, change) {
    const at = [...parent.children].indexOf(document.activeElement);
    change();
    if (at >= 0) parent.children[at]?.focus();
  },

  fillChips() {
    this.chips.replaceChildren(...this.curves.map(c => {
      c.value = make('span', {className: 'value'});
      const name = make('button', {title: 'Hide or show', className: c.visible ? '' : 'hidden', ariaPressed: String(c.visible),
        onclick: () => { c.visible = !c.visible; this.show(); }}, c.label);
      return make('span', {className: 'chip'}, lineSample(c), name, c.value, this.menuOf(c),
        make('button', {className: 'drop', ariaLabel: 'Remove ' + c.name, onclick: () => this.drop(c)}, '✕'));
    }));
    if (this.curves.length === 0) this.chips.append(make('span', {className: 'time-at'}, 'Tick a variable on the left to draw it here.'));
  },

  // What can be derived from a curve.
  menuOf(curve) {
    const others = this.curves.filter(c => c !== curve).slice(0, 12);
    const options = [['', 'ƒ'], ['der', 'derivative'], ['integral', 'integral'], ['mean', 'moving average'], ['spectrum', 'spectrum'],
      ...others.map((c, i) => ['minus ' + i, 'minus ' + c.name])];
    if (curve.derived) options.push(['edit', 'edit the expression']);
    const menu = chooser('Derive from ' + curve.name, options, '', what => {
      menu.value = '';
      if (what === 'spectrum') app.addSpectrum(this, [curve]);
      else if (what === 'edit') editExpression(this, curve);
      else if (what) this.derive(curve, what, others);
    });
    menu.className = 'more';
    menu.title = 'Derivative, integral, moving average, spectrum, difference';
    return menu;
  },
  derive(curve, what, others) {
    const text = curve.expression, round = v => Number(v.toPrecision(1));
    const expressions = {der: () => 'der(' + text + ')', integral: () => 'integral(' + text + ')',
      mean: () => { const [from, until] = app.timeInView() ?? curve.result.time; return 'mean(' + text + ', ' + round((until - from) / 20) + ')'; }};
    const other = what.startsWith('minus ') ? others[Number(what.slice(6))] : null;
    const enclosed = c => c.derived || c.difference ? '(' + c.expression + ')' : c.expression;
    const expression = other ? enclosed(curve) + ' - ' + enclosed(other) : expressions[what]();
    notice(drawExpression(this, expression, null));
  },
});

//------------------------------------ the field for expressions ------------------------------------

// The curve that the expression in the field replaces: {plot, curve} or null.
let edited = null;

// Draws an expression in a plot, in place of a curve where there is one. Returns the reason where that cannot be, '' otherwise.
function drawExpression(plot, text, instead) {
  let curves;
  try {
    curves = derivedCurves(text.trim());
  } catch (e) {
    if (!(e instanceof ExpressionError)) throw e;
    return e.message;
  }
  if (instead) plot.curves = plot.curves.filter(c => !(c.derived && c.text === instead.text));
  plot.addCurves(curves);
  plot.show();
  return '';
}

function editExpression(plot, curve) {
  edited = {plot, curve};
  app.activate(plot);
  drawer(true);
  $('expression').value = curve.text;
  $('expression').focus();
  $('expression').select();
}

function bindExpressionField() {
  $('derive').addEventListener('submit', e => {
    e.preventDefault();
    const text = $('expression').value.trim();
    if (text === '') return;
    if (!app.active) app.add(new Plot('time'));
    const plot = edited?.plot ?? app.active;
    const reason = drawExpression(plot, text, edited?.curve);
    $('derive-error').textContent = reason;
    if (reason === '') { $('expression').value = ''; edited = null; }
  });
  $('expression').addEventListener('input', () => {
    $('derive-error').textContent = '';
    if ($('expression').value === '') edited = null;
  });
}
