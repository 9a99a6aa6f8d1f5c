// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The page of a diagram: laid out in the browser, so that nested systems can be folded.

const WHOLE = JSON.parse(document.getElementById('data').textContent);
let DATA = bundled(WHOLE);
const $ = id => document.getElementById(id);
const folded = {};
const place = {x: 0, y: 0, scale: 1};
const MANY = 60; // nodes: with more of them nested systems begin folded

function elementOf(s) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', s.tag);
  for (const [k, v] of Object.entries(s.attributes)) if (k !== 'xmlns') e.setAttribute(k, v);
  if (s.text !== undefined) e.textContent = s.text;
  e.append(...s.children.filter(c => c.tag !== 'style').map(elementOf));
  return e;
}

let shapes = null;
async function draw(keep) {
  const laid = await new ELK().layout(layoutInput(DATA, folded));
  laid.edges ??= [];
  shapes = diagramShapes(DATA, laid, folded);
  $('picture').replaceChildren(elementOf(shapes));
  $('picture').dataset.nodes = document.querySelectorAll('.node').length;
  if (!keep) fit();
  find();
}

//------------------------------------ moving ------------------------------------

function apply() { $('picture').style.transform = `translate(${place.x}px,${place.y}px) scale(${place.scale})`; }

function fit() {
  const svg = $('picture').firstElementChild, room = $('main');
  const w = svg.width.baseVal.value, h = svg.height.baseVal.value;
  place.scale = Math.min(1.6, room.clientWidth / w, room.clientHeight / h);
  place.x = (room.clientWidth - w * place.scale) / 2;
  place.y = (room.clientHeight - h * place.scale) / 2;
  apply();
}

function zoom(factor, x, y) {
  const r = $('main').getBoundingClientRect(), scale = Math.min(8, Math.max(0.02, place.scale * factor));
  const ax = (x ?? r.left + r.width / 2) - r.left, ay = (y ?? r.top + r.height / 2) - r.top;
  place.x = ax - (ax - place.x) * scale / place.scale;
  place.y = ay - (ay - place.y) * scale / place.scale;
  place.scale = scale;
  apply();
}

function move(dx, dy) { place.x += dx; place.y += dy; apply(); }

function bindMoves() {
  const main = $('main'), fingers = new Map();
  let last = null, moved = 0;
  const middle = () => {
    const p = [...fingers.values()];
    return {x: p.reduce((s, q) => s + q[0], 0) / p.length, y: p.reduce((s, q) => s + q[1], 0) / p.length,
      width: p.length > 1 ? Math.hypot(p[0][0] - p[1][0], p[0][1] - p[1][1]) : 0};
  };
  main.addEventListener('wheel', e => { e.preventDefault(); zoom(Math.exp(-e.deltaY / 400), e.clientX, e.clientY); }, {passive: false});
  main.addEventListener('pointerdown', e => { fingers.set(e.pointerId, [e.clientX, e.clientY]); last = middle(); moved = 0; });
  main.addEventListener('pointermove', e => {
    if (!fingers.has(e.pointerId)) return;
    fingers.set(e.pointerId, [e.clientX, e.clientY]);
    const now = middle();
    moved += Math.abs(now.x - last.x) + Math.abs(now.y - last.y);
    if (moved > 4) { main.setPointerCapture(e.pointerId); main.classList.add('moving'); move(now.x - last.x, now.y - last.y); }
    if (now.width > 0 && last.width > 0) zoom(now.width / last.width, now.x, now.y);
    last = now;
  });
  for (const end of ['pointerup', 'pointercancel']) {
    main.addEventListener(end, e => { fingers.delete(e.pointerId); last = fingers.size ? middle() : null; main.classList.remove('moving'); });
  }
  main.addEventListener('click', e => { if (moved <= 4) choose(e.target.closest('.node,.edge,.port'), e.target.classList.contains('fold')); });
}

//------------------------------------ choosing ------------------------------------

function say(title, lines) {
  const heading = document.createElement('h2');
  heading.textContent = title;
  $('info').replaceChildren(heading, ...lines.map(line => {
    const p = document.createElement('p');
    p.textContent = line;
    return p;
  }));
}

function choose(element, toggle) {
  for (const e of document.querySelectorAll('.chosen')) e.classList.remove('chosen');
  if (!element) return;
  element.classList.add('chosen');
  const id = Number(element.dataset.node), text = element.querySelector('title').textContent;
  const node = Number.isInteger(id) ? DATA.nodes[id] : null;
  say(node ? node.name : element.classList.contains('edge') ? 'Connection' : element.querySelector('text').textContent, text.split('\n').filter(t => t));
  if (node && (toggle || node.kind === 'system') && childrenOf(DATA, id).length > 0) {
    folded[id] = !folded[id];
    draw(true).then(() => document.querySelector(`[data-node="${id}"]`)?.focus());
  }
}

function find() {
  const word = $('search').value.toLowerCase();
  let first = null;
  for (const e of document.querySelectorAll('.node')) {
    const hit = word !== '' && DATA.nodes[Number(e.dataset.node)].name.toLowerCase().includes(word);
    e.classList.toggle('found', hit);
    first ??= hit ? e : null;
  }
  if (!first) return;
  const r = first.getBoundingClientRect(), m = $('main').getBoundingClientRect();
  if (r.left < m.left || r.right > m.right || r.top < m.top || r.bottom > m.bottom) {
    move(m.left + m.width / 2 - r.left - r.width / 2, m.top + m.height / 2 - r.top - r.height / 2);
  }
}

function save() {
  const url = URL.createObjectURL(new Blob([markup(shapes)], {type: 'image/svg+xml'}));
  const a = document.createElement('a');
  a.href = url;
  a.download = (DATA.title || 'system').replace(/[^\w.-]+/g, '_') + '.svg';
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

//------------------------------------ wiring ------------------------------------

// The colours of the picture follow the page, not the browser.
function theme(dark) {
  document.documentElement.classList.toggle('dark', dark);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(DIAGRAM_STYLE + (dark ? DIAGRAM_DARK : ''));
  document.adoptedStyleSheets = [sheet];
}

const systems = DATA.nodes.filter(n => childrenOf(DATA, n.id).length > 0);
if (DATA.nodes.length > MANY) for (const n of systems) folded[n.id] = true;
$('title').textContent = DATA.title;
$('fold').hidden = systems.length === 0;
$('fold').addEventListener('click', () => {
  const all = systems.every(n => folded[n.id]);
  for (const n of systems) folded[n.id] = !all;
  $('fold').textContent = all ? 'Fold all' : 'Unfold all';
  draw(false);
});
$('lines').hidden = DATA.edges.length === WHOLE.edges.length;
$('lines').addEventListener('click', () => {
  DATA = DATA === WHOLE ? bundled(WHOLE) : WHOLE;
  $('lines').textContent = DATA === WHOLE ? 'Bundled lines' : 'Single lines';
  draw(false);
});
$('fit').addEventListener('click', fit);
$('larger').addEventListener('click', () => zoom(1.25));
$('smaller').addEventListener('click', () => zoom(0.8));
$('save').addEventListener('click', save);
$('search').addEventListener('input', find);
$('theme').addEventListener('click', () => theme(!document.documentElement.classList.contains('dark')));
addEventListener('resize', fit);
document.addEventListener('keydown', e => {
  const moves = {ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40]};
  if (e.ctrlKey || e.altKey || e.metaKey || document.activeElement?.tagName === 'INPUT') return;
  const node = document.activeElement?.closest?.('.node');
  if (e.key === '/') { e.preventDefault(); $('search').focus(); }
  else if (node && (e.key === 'Enter' || e.key === ' ')) { e.preventDefault(); choose(node, true); }
  else if (e.key === '+' || e.key === '=') zoom(1.25);
  else if (e.key === '-') zoom(0.8);
  else if (e.key === '0' || e.key === 'Home') fit();
  else if (moves[e.key]) { e.preventDefault(); move(...moves[e.key]); }
});
$('picture').addEventListener('focusin', e => {
  const node = e.target.closest('.node');
  if (node) say(DATA.nodes[Number(node.dataset.node)].name, node.querySelector('title').textContent.split('\n').filter(t => t));
});
bindMoves();
const dark = matchMedia('(prefers-color-scheme: dark)');
theme(dark.matches);
dark.addEventListener('change', () => theme(dark.matches));
draw(false);
