// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A link that restores the view: all of it is in the fragment of the address, as JSON in the URL-safe form of base64. Every page has
// viewState() and restoreView() of its own.

const LINK = '#view=', MAX_LINK = 1 << 20;

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

const isRange = r => Array.isArray(r) && r.length === 2 && r.every(Number.isFinite) && r[0] < r[1];

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
  notice(copied ? 'The link to this view is copied.' : 'The address of the page is now the link to this view.');
}

function bindLink() {
  $('copy-link').addEventListener('click', copyLink);
  addEventListener('hashchange', () => restoreView(location.hash));
}
