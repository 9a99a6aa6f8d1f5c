// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What the library wrote into the page: names in JSON, and numbers as base64, decoded when they are first asked for. Everything a
// model said (names, units, descriptions) is handled as text only.

const DATA = JSON.parse(document.getElementById('data').textContent);

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

const ARRAYS = {f64: Float64Array, f32: Float32Array, i32: Int32Array, i8: Int8Array};

function block(id, kind) {
  const element = document.getElementById(id);
  const bytes = bytesOf(element.textContent.trim());
  element.remove(); // decoded numbers take the place of the text
  return new ARRAYS[kind](bytes.buffer);
}
