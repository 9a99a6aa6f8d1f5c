// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The influence of the factors on a measure, as the library computed it of all cases: bars with intervals, the largest first, and the
// numbers.

const METHODS = {
  sobol: {title: 'Sobol’ indices', rank: 3, bars: [[0, 'first order', '--c0'], [3, 'total', '--c1']], low: 0,
    text: 'Shares of the variance. First order: of the factor alone; total: with its interactions. Lines are intervals of 95 percent.'},
  morris: {title: 'Elementary effects (Morris)', rank: 0, bars: [[0, 'μ*', '--c0'], [2, 'σ', '--c1']], low: 0,
    text: 'Changes over the whole range of a factor. μ*: how much it matters; σ: whether its effect depends on other factors or its own value.'},
  regression: {title: 'Regression and rank correlation', rank: 0, bars: [[0, 'regression', '--c0'], [1, 'rank correlation', '--c1']], low: -1,
    text: 'Standardised coefficients of a linear regression, and Spearman’s correlation of ranks.'},
};
const SVG = 'http://www.w3.org/2000/svg';
function shape(tag, attributes, ...children) {
  const e = document.createElementNS(SVG, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

const numberOr = v => v === null ? NaN : v;

class Influence {
  constructor() {
    this.measure = study.measures.find(m => m.said.influence?.values.some(v => v !== null)) ?? study.measures[0];
    this.tools = make('div', {className: 'tools'});
    this.heading = make('h2', {}, 'Influence of the factors');
    this.body = make('div', {className: 'influence'});
    this.element = make('section', {className: 'plot panel'}, make('div', {className: 'bar'}, this.heading, this.tools), this.body);
    new ResizeObserver(() => { if (this.body.clientWidth !== this.drawnWidth) this.show(); }).observe(this.body);
  }
  setMeasure(measure) { this.measure = measure; this.show(); }
  show() {
    if (!this.measure) return;
    const said = this.measure.said.influence;
    this.tools.replaceChildren(choice('of', study.measures.map(m => [m.index, m.label]), this.measure.index, i => this.setMeasure(study.columns[i]), true));
    if (!said) { this.body.replaceChildren(make('p', {className: 'empty'}, 'There are no factors.')); return; }
    const method = METHODS[said.method], n = said.columns.length;
    const rows = study.factors.map((factor, f) => ({factor, values: said.values.slice(f * n, f * n + n).map(numberOr)}));
    const size = r => Number.isFinite(r.values[method.rank]) ? Math.abs(r.values[method.rank]) : -1;
    rows.sort((a, b) => size(b) - size(a));
    const none = rows.every(r => r.values.every(v => !Number.isFinite(v)));
    this.heading.textContent = method.title;
    this.body.replaceChildren(make('p', {className: 'hint'}, method.text + (said.rSquared !== null && said.method === 'regression'
      ? ' The linear model explains ' + short(+(100 * said.rSquared).toPrecision(4)) + ' % of the variance (R²).' : '') + ' Of all cases; brushes have no effect here.'));
    if (none) { this.body.append(make('p', {className: 'empty'}, 'There are too few results, or they do not vary.')); this.drawnWidth = this.body.clientWidth; return; }
    this.body.append(this.legend(method), this.bars(rows, method, said), this.table(rows, said));
    this.drawnWidth = this.body.clientWidth;
  }
  legend(method) {
    return make('p', {className: 'legend'}, ...method.bars.map(([, name, style]) => {
      const sample = make('span', {className: 'sample'});
      sample.style.background = css(style);
      return make('span', {}, sample, name);
    }));
  }
  bars(rows, method, said) {
    const width = Math.max(240, this.body.clientWidth || 400), names = Math.min(150, width * 0.34), right = 14, line = 32, shown = rows.slice(0, 40);
    const height = shown.length * line + 26, unit = said.method === 'morris' && this.measure.unit ? ' [' + this.measure.unit + ']' : '';
    const all = shown.flatMap(r => method.bars.flatMap(([c]) => [r.values[c], ...(said.columns[c + 1] === 'low' ? [r.values[c + 1], r.values[c + 2]] : [])])).filter(Number.isFinite);
    const low = Math.min(0, ...all), high = Math.max(said.method === 'sobol' ? 1 : 0, ...all), pad = 0.04 * (high - low || 1);
    const scale = new Scale(low < 0 ? low - pad : 0, high + pad, false);
    const x = v => names + scale.part(v) * (width - names - right);
    const svg = shape('svg', {width, height, viewBox: '0 0 ' + width + ' ' + height, role: 'img', 'aria-label': method.title + ' of ' + this.measure.name + ': ' +
      shown.map(r => r.factor.name + ' ' + short(r.values[method.rank])).join(', ')});
    const ticks = linearTicks(scale.min, scale.max, (width - names) / 70);
    tickTexts(ticks, ticks[1] - ticks[0]).forEach((text, i) => svg.append(
      shape('path', {d: 'M' + x(ticks[i]) + ' 0V' + (height - 22), class: ticks[i] === 0 ? 'axis' : 'grid'}),
      shape('text', {x: x(ticks[i]), y: height - 8, 'text-anchor': 'middle'}, text + (i === ticks.length - 1 ? unit : ''))));
    shown.forEach((r, k) => {
      const y = k * line + 4, label = shape('text', {x: names - 8, y: y + 15, 'text-anchor': 'end', class: 'name'}, shortened(r.factor.name, names / 7.4));
      label.append(shape('title', {}, r.factor.label));
      svg.append(label);
      method.bars.forEach(([c, name, style], b) => {
        const v = r.values[c], top = y + b * 11;
        if (!Number.isFinite(v)) return;
        const bar = shape('rect', {x: Math.min(x(0), x(v)), y: top, width: Math.max(1, Math.abs(x(v) - x(0))), height: 10, fill: css(style)});
        bar.append(shape('title', {}, r.factor.name + ', ' + name + ': ' + short(v)));
        svg.append(bar);
        const [a, z] = said.columns[c + 1] === 'low' ? [r.values[c + 1], r.values[c + 2]] : [NaN, NaN];
        if (Number.isFinite(a)) svg.append(shape('path', {d: `M${x(a)} ${top + 5}H${x(z)}M${x(a)} ${top + 2}v6M${x(z)} ${top + 2}v6`, class: 'interval'}));
      });
    });
    return svg;
  }
  table(rows, said) {
    const ends = {low: 'from', high: 'to', 'mu*': 'μ*', mu: 'μ', sigma: 'σ', first: 'first order'};
    const table = make('table', {}, make('tr', {}, make('th', {scope: 'col'}, 'factor'), ...said.columns.map(c => make('th', {scope: 'col'}, ends[c] ?? c))));
    for (const r of rows) table.append(make('tr', {}, make('th', {scope: 'row'}, r.factor.label), ...r.values.map(v => make('td', {className: 'number'}, short(v)))));
    return make('details', {}, make('summary', {}, 'Numbers'), make('div', {className: 'scroll'}, table));
  }
}

// In the middle of a long name something is left out.
function shortened(text, most) {
  most = Math.max(4, Math.floor(most));
  if (text.length <= most) return text;
  return text.slice(0, Math.ceil(most / 2) - 1) + '…' + text.slice(text.length - Math.floor(most / 2));
}
