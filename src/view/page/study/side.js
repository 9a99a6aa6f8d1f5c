// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Beside the charts: what is selected and why, the colours, the axes of the parallel coordinates, and the cases that were clicked with
// all their numbers. Below them: the cases that failed.

const MOST_FAILURES = 200;

const side = {
  show() { this.showSelection(); this.showColours(); this.showAxes(); this.showCases(); },

  showSelection() {
    const failed = study.reasons.size, {n, selected} = study;
    $('count').textContent = selected === n ? casesText(n) : grouped(selected) + ' of ' + grouped(n) + ' cases selected';
    $('failed').textContent = failed > 0 ? grouped(failed) + ' failed' : '';
    $('failed').hidden = failed === 0;
    $('brushes').replaceChildren(...study.brushed.map(c => make('li', {}, make('span', {}, c.name + ': ' + short(+c.brush[0].toPrecision(4)) + ' to ' + c.format(+c.brush[1].toPrecision(4))),
      make('button', {className: 'drop', ariaLabel: 'Remove the brush of ' + c.name, onclick: () => app.brush(c, null)}, '✕'))));
    $('clear').disabled = study.brushed.length === 0;
    document.documentElement.dataset.selected = selected;
  },
  showColours() {
    const select = $('colour');
    if (select.options.length === 0) {
      for (const [key, text] of [['', 'one colour'], ...study.columns.map(c => [c.index, c.label])]) select.append(make('option', {value: key}, text));
    }
    select.value = colour.column ? colour.column.index : '';
    $('scale').hidden = !colour.column;
    if (!colour.column) return;
    const {scale} = colour.column;
    $('gradient').style.background = colour.gradient();
    $('scale-low').textContent = colour.column.format(scale.min);
    $('scale-high').textContent = colour.column.format(scale.max);
  },
  showAxes() {
    const words = $('search').value.toLowerCase().split(/\s+/).filter(w => w), axes = new Set(app.parallel.axes);
    const found = study.columns.filter(c => words.every(w => (c.name + ' ' + c.text).toLowerCase().includes(w)));
    $('axes').replaceChildren(...[['factor', 'Factors'], ['measure', 'Measures']].flatMap(([role, title]) => {
      const list = found.filter(c => c.role === role);
      if (list.length === 0) return [];
      return [make('h3', {}, title), ...list.slice(0, 300).map(c => {
        const box = make('input', {type: 'checkbox', checked: axes.has(c), onchange: () => app.toggleAxis(c)});
        const log = make('button', {className: 'log', ariaPressed: String(c.log), title: 'Logarithmic scale of ' + c.name, ariaLabel: 'Logarithmic scale of ' + c.name,
          disabled: !(c.rangeAbove[0] > 0), onclick: () => app.setLog(c, !c.log)}, 'log');
        return make('div', {className: 'leaf'}, make('label', {title: c.text || c.name}, box, c.name), make('span', {className: 'unit'}, c.unit), log);
      })];
    }));
  },

  //------------------------------------ cases ------------------------------------

  showCases() {
    const list = app.pinned, cases = $('cases');
    if (list.length === 0) { cases.replaceChildren(make('p', {className: 'hint'}, 'Click a point or a line to see its case; with Shift, several.')); return; }
    const heads = list.map((i, k) => {
      const sample = make('span', {className: 'sample'});
      sample.style.background = pinColour(k);
      return make('th', {scope: 'col'}, sample, String(i), make('button', {className: 'drop', ariaLabel: 'Remove case ' + i, onclick: () => app.pin(i, true)}, '✕'));
    });
    const row = c => make('tr', {}, make('th', {scope: 'row', title: c.text || c.name}, c.name, ...(c.unit ? [make('small', {}, ' ' + c.unit)] : [])),
      ...list.map(i => make('td', {className: 'number'}, short(c.values[i]))));
    const table = make('table', {}, make('tr', {}, make('th', {scope: 'col'}, 'case'), ...heads),
      ...(study.factors.length > 0 ? [make('tr', {className: 'group'}, make('th', {colSpan: list.length + 1}, 'Factors')), ...study.factors.map(row)] : []),
      ...(study.measures.length > 0 ? [make('tr', {className: 'group'}, make('th', {colSpan: list.length + 1}, 'Measures')), ...study.measures.map(row)] : []));
    const reasons = list.filter(i => study.reasons.has(i)).map(i => make('p', {className: 'reason'}, 'Case ' + i + ' failed: ' + (study.reasons.get(i) || 'the reason is not in this page')));
    const without = list.filter(i => study.curves.length > 0 && study.rowOf(i) < 0);
    if (without.length > 0) reasons.push(make('p', {className: 'hint'}, 'Of case ' + without.join(', ') + ' there are no curves in this page, which has those of one case in ' + study.curveStep + '.'));
    cases.replaceChildren(...reasons, make('div', {className: 'scroll'}, table));
  },
  showFailures() {
    const {reasons} = study, section = $('failures');
    section.hidden = reasons.size === 0;
    if (reasons.size === 0) return;
    const table = make('table', {}, make('tr', {}, ...['case', 'reason', ...study.factors.slice(0, 12).map(c => c.label)].map(h => make('th', {scope: 'col'}, h))));
    for (const [i, reason] of [...reasons].slice(0, MOST_FAILURES)) {
      table.append(make('tr', {}, make('td', {}, make('button', {onclick: () => app.pin(i, false), ariaLabel: 'Show case ' + i}, String(i))),
        make('td', {className: 'reason'}, reason || 'not in this page'), ...study.factors.slice(0, 12).map(c => make('td', {className: 'number'}, short(c.values[i])))));
    }
    section.replaceChildren(make('h2', {}, 'Failed cases'), make('p', {className: 'hint'}, grouped(reasons.size) + ' of ' + grouped(study.n) + ' cases failed' +
      (reasons.size > MOST_FAILURES ? '; the first ' + MOST_FAILURES : '') + '. They have no measures and count in no statistics.'),
    make('div', {className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: 'Failed cases'}, table));
  },

  // The selected cases, every digit.
  exportCsv() {
    const lines = [['case', ...study.columns.map(c => cell(c.label)), 'failure'].join(',')];
    for (let i = 0; i < study.n; i++) {
      if (study.mask[i] === 1) lines.push([i, ...study.columns.map(c => digits(c.values[i])), cell(study.reasons.get(i) ?? '')].join(','));
    }
    save(fileName() + '.csv', 'text/csv', [lines.join('\n') + '\n']);
  },
  bind() {
    $('colour').addEventListener('change', () => app.colourBy(study.columns[$('colour').value] ?? null));
    $('search').addEventListener('input', () => this.showAxes());
    $('clear').addEventListener('click', () => app.brushes(study.brushed.map(c => [c, null])));
    $('csv').addEventListener('click', () => this.exportCsv());
    $('failed').addEventListener('click', () => $('failures').scrollIntoView({block: 'start'}));
    $('go').addEventListener('submit', e => {
      e.preventDefault();
      const i = Number($('number').value);
      if (Number.isInteger(i) && i >= 0 && i < study.n && $('number').value !== '') app.pin(i, false);
      else notice('Cases have the numbers 0 to ' + (study.n - 1) + '.');
    });
    $('number').max = study.n - 1;
    // the page must not move below a brush: the longest text has room
    $('count').style.minWidth = (grouped(study.n) + ' of ' + grouped(study.n) + ' cases selected').length * 0.95 + 'ch';
  },
};
