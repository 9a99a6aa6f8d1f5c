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

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key in element && key !== 'list') element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

function leaf(name, shown) {
  const columns = variables.get(name);
  const box = make('input', {type: 'checkbox', checked: app.isDrawn(name)});
  box.dataset.name = name;
  box.addEventListener('change', () => app.draw(name, box.checked));
  const row = make('label', {className: columns.every(c => c.still) ? 'leaf still' : 'leaf'}, box, shown,
    make('span', {className: 'unit'}, columns[0].unit));
  row.title = columns[0].text ? name + ': ' + columns[0].text : name;
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
  show() {
    const words = document.getElementById('search').value.toLowerCase().split(/\s+/).filter(w => w);
    const names = [...variables.keys()], found = document.getElementById('found');
    const place = document.getElementById('tree');
    place.replaceChildren();
    if (words.length === 0) {
      found.textContent = names.length + (names.length === 1 ? ' variable' : ' variables');
      fillGroup(place, names, 0);
      return;
    }
    const hits = names.filter(name => {
      const text = (name + ' ' + variables.get(name)[0].text).toLowerCase();
      return words.every(w => text.includes(w));
    });
    found.textContent = hits.length + ' of ' + names.length + (hits.length > MAX_FOUND ? ', the first ' + MAX_FOUND + ' shown' : '');
    for (const name of hits.slice(0, MAX_FOUND)) place.append(leaf(name, name));
  },
  // Ticks follow the active plot.
  mark() {
    for (const box of document.querySelectorAll('#tree input')) box.checked = app.isDrawn(box.dataset.name);
  },
};
