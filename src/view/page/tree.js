// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The variables as a tree, by the dots in their names, and as a list of what a search found.

const MAX_FOUND = 300;
const variables = new Map(); // name -> the columns of that name, one a result
for (const result of results) {
  for (const column of result.columns) {
    if (!variables.has(column.name)) variables.set(column.name, []);
    variables.get(column.name).push(column);
  }
}

// Which results have it, where not all of them do.
const ownersOf = columns => results.length > 1 && columns.length < results.length && !tree.result ? columns.map(c => c.result.name).join(', ') : '';

// Of a variable of several results all, none or some may be drawn.
function markBox(box) {
  const {drawn, all} = app.drawnOf(box.dataset.name);
  box.checked = all > 0 && drawn === all;
  box.indeterminate = drawn > 0 && drawn < all;
}

function leaf(name, shown) {
  const columns = variables.get(name).filter(c => !tree.result || c.result === tree.result), owners = ownersOf(columns);
  const box = make('input', {type: 'checkbox'});
  box.dataset.name = name;
  markBox(box);
  box.addEventListener('change', () => app.draw(name, box.checked));
  const row = make('label', {className: columns.every(c => c.still) ? 'leaf still' : 'leaf'}, box, shown,
    ...(owners ? [make('span', {className: 'owners'}, owners)] : []), make('span', {className: 'unit'}, [...new Set(columns.map(c => c.unit))].join(', ')));
  row.title = (columns[0].text ? name + ': ' + columns[0].text : name) + (owners ? ' (' + owners + ')' : '');
  return row;
}

// A group shows its members when it is first opened: ten thousand names cost nothing until then.
function group(title, members, depth, open) {
  const details = make('details', {open}, make('summary', {}, title));
  const fill = () => {
    if (details.open && details.childElementCount === 1) fillGroup(details, members, depth);
  };
  details.addEventListener('toggle', fill);
  fill();
  return details;
}

function fillGroup(parent, names, depth) {
  const groups = new Map();
  for (const name of names) {
    const parts = name.split('.');
    const key = parts.length > depth + 1 ? parts[depth] : '';
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(name);
  }
  for (const [key, members] of groups) {
    if (key === '') for (const name of members) parent.append(leaf(name, name.split('.').slice(depth).join('.')));
    else parent.append(group(key, members, depth + 1, groups.size === 1));
  }
}

const tree = {
  result: null, // the only result whose variables are listed and drawn; null: all

  // The names of the result, or of all, and the text that the search looks in.
  names() { return [...variables.keys()].filter(name => !this.result || this.result.byName.has(name)); },
  searched(name) {
    const columns = variables.get(name);
    return [name, ...columns.map(c => c.text), ...(results.length > 1 ? columns.map(c => c.result.name) : [])].join(' ').toLowerCase();
  },
  show() {
    const words = document.getElementById('search').value.toLowerCase().split(/\s+/).filter(w => w);
    const names = this.names(), found = document.getElementById('found');
    const place = document.getElementById('tree');
    place.replaceChildren();
    if (words.length === 0) {
      found.textContent = names.length + (names.length === 1 ? ' variable' : ' variables');
      fillGroup(place, names, 0);
      return;
    }
    const hits = names.filter(name => { const text = this.searched(name); return words.every(w => text.includes(w)); });
    found.textContent = hits.length + ' of ' + names.length + (hits.length > MAX_FOUND ? ', the first ' + MAX_FOUND + ' shown' : '');
    for (const name of hits.slice(0, MAX_FOUND)) place.append(leaf(name, name));
  },
  // Ticks follow the active plot.
  mark() {
    for (const box of document.querySelectorAll('#tree input')) markBox(box);
  },
  // A choice of one result, where there are several.
  bind() {
    const choice = document.getElementById('file');
    choice.hidden = results.length < 2;
    for (const [i, text] of [['', 'all ' + results.length + ' results'], ...results.map(r => [r.index, 'only ' + r.name])]) choice.append(make('option', {value: i}, text));
    choice.addEventListener('change', () => {
      this.result = choice.value === '' ? null : results[Number(choice.value)];
      this.show();
    });
  },
};
