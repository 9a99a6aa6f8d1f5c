// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parts that all pages have: elements, messages, sections that open, light and dark, a drawer on narrow windows, files to save.

const $ = id => document.getElementById(id);

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

let noticeTimer = 0;
function notice(text) {
  $('notice').textContent = text;
  $('notice').hidden = text === '';
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => { $('notice').hidden = true; }, 8000);
}

function toggle(button, part, fill) {
  $(part).hidden = !$(part).hidden;
  button.setAttribute('aria-expanded', String(!$(part).hidden));
  if (!$(part).hidden) { fill?.(); $(part).scrollIntoView({block: 'nearest'}); }
}

// A part of a report: {title, text, head, rows}.
function reportSection(part) {
  const section = make('section', {}, make('h3', {}, part.title));
  if (part.text !== undefined) section.append(make('pre', {}, part.text));
  if (part.rows) {
    const table = make('table', {});
    if (part.head) table.append(make('tr', {}, ...part.head.map(h => make('th', {scope: 'col'}, h))));
    for (const row of part.rows) {
      table.append(make('tr', {}, ...row.map((v, i) => i === 0 && !part.head ? make('th', {scope: 'row'}, String(v))
        : make('td', {className: typeof v === 'number' && part.head ? 'number' : ''}, v === null ? '–' : String(v)))));
    }
    section.append(table);
  }
  return section;
}

// Light or dark as the system is, until the button is pressed; `changed` draws anew.
function followTheme(changed) {
  const system = matchMedia('(prefers-color-scheme: dark)'), list = document.documentElement.classList;
  const set = dark => { list.toggle('dark', dark); changed(); };
  $('theme').addEventListener('click', () => set(!list.contains('dark')));
  system.addEventListener('change', () => set(system.matches));
  set(system.matches);
}

function drawer(open) {
  $('side').classList.toggle('open', open);
  $('menu').setAttribute('aria-expanded', String(open));
}

//------------------------------------ files ------------------------------------

function save(name, type, parts) {
  const url = URL.createObjectURL(new Blob(parts, {type}));
  make('a', {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const cell = text => /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
const digits = v => Number.isNaN(v) ? 'nan' : v === Infinity ? 'inf' : v === -Infinity ? '-inf' : String(v);
