// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Statistics of each measure: of all cases as the library computed them, of the selected ones by the same definitions; histograms
// with the selected cases in colour.

// Mean, deviation (with n - 1), least and greatest, quantiles interpolated linearly at p (n - 1) of the finite values.
function statisticsOf(values, mask, probabilities) {
  let n = 0, mean = 0, squares = 0;
  const kept = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (mask[i] === 0 || !Number.isFinite(v)) continue;
    kept[n++] = v;
    const off = v - mean;
    mean += off / n;
    squares += off * (v - mean);
  }
  const sorted = kept.subarray(0, n).sort();
  const quantile = p => {
    const at = p * (n - 1), low = Math.floor(at);
    return n === 0 ? NaN : sorted[low] + (at > low ? (sorted[low + 1] - sorted[low]) * (at - low) : 0);
  };
  return {n, mean: n > 0 ? mean : NaN, deviation: n > 1 ? Math.sqrt(squares / (n - 1)) : NaN, least: n > 0 ? sorted[0] : NaN,
    greatest: n > 0 ? sorted[n - 1] : NaN, quantiles: probabilities.map(quantile)};
}

// The numbers in bins; each bin has its left end, the last one both.
function countsOf(values, mask, edges) {
  const bins = edges.length - 1, counts = new Array(bins).fill(0), low = edges[0], width = (edges[bins] - low) / bins;
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (mask[i] === 0 || !(v >= low && v <= edges[bins])) continue;
    let b = width > 0 ? Math.min(bins - 1, Math.max(0, Math.floor((v - low) / width))) : 0;
    while (b > 0 && v < edges[b]) b--;
    while (b + 1 < bins && v >= edges[b + 1]) b++;
    counts[b]++;
  }
  return counts;
}

const MOST_MEASURES = 60;

const statistics = {
  element: make('section', {className: 'plot panel'}),

  // Drawn by the painter: a measure at a time.
  * draw() {
    const parts = DATA.probabilities, some = study.selected < study.n, shown = study.measures.slice(0, MOST_MEASURES);
    const head = ['measure', 'cases', 'mean', 'deviation', 'least', ...parts.map(p => short(100 * p) + ' %'), 'greatest'];
    const table = make('table', {className: 'statistics'}, make('tr', {}, ...head.map(h => make('th', {scope: 'col'}, h)), make('th', {scope: 'col'}, 'histogram')));
    const row = (name, s, picture, selected) => make('tr', {className: selected ? 'selected' : ''}, name, make('td', {className: 'number'}, String(s.n)),
      ...[s.mean, s.deviation, s.least, ...s.quantiles, s.greatest].map(v => make('td', {className: 'number'}, short(v ?? NaN))), ...picture);
    for (const measure of shown) {
      const {said} = measure, counts = some && said.edges ? countsOf(measure.values, study.mask, said.edges) : null;
      const name = make('th', {scope: 'row', rowSpan: some ? 2 : 1, title: measure.text}, measure.label);
      table.append(row(name, said, [make('td', {rowSpan: some ? 2 : 1}, this.histogram(measure, counts))], false));
      if (some) table.append(row('', statisticsOf(measure.values, study.mask, parts), [], true));
      yield;
    }
    const note = some ? 'First lines: all cases; second lines: the ' + grouped(study.selected) + ' selected ones.' : 'Of all cases; those without a number are left out.';
    this.element.replaceChildren(make('h2', {}, 'Statistics'), make('p', {className: 'hint'}, note + (study.measures.length > MOST_MEASURES
      ? ' The first ' + MOST_MEASURES + ' of ' + study.measures.length + ' measures.' : '')), make('div', {className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: 'Statistics'}, table));
    this.element.dataset.selected = study.selected;
  },
  histogram(measure, counts) {
    const {said} = measure, width = 150, height = 34;
    if (!said.edges) return '–';
    const most = Math.max(1, ...said.counts), bins = said.counts.length, step = width / bins;
    const bars = list => list.map((n, i) => n > 0 ? `M${(i * step).toFixed(2)} ${height}v${(-n / most * height).toFixed(2)}h${step.toFixed(2)}V${height}Z` : '').join('');
    const svg = shape('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img',
      'aria-label': 'histogram of ' + measure.name + ' from ' + measure.format(said.edges[0]) + ' to ' + measure.format(said.edges[bins])},
    shape('title', {}, bins + (bins === 1 ? ' bin from ' : ' bins from ') + measure.format(said.edges[0]) + ' to ' + measure.format(said.edges[bins])),
    shape('path', {d: bars(said.counts), fill: css(counts ? '--line' : '--c0')}));
    if (counts) svg.append(shape('path', {d: bars(counts), fill: css('--c0')}));
    svg.dataset.counts = (counts ?? said.counts).join(' ');
    return svg;
  },
};
