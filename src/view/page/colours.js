// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Colours and dashes: a colour per variable, a dash per result.

const COLOURS = 8;
const DASHES = [[], [7, 4], [11, 3, 3, 3], [3, 3], [14, 4], [7, 3, 2, 3, 2, 3]];
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colourOf = curve => css('--c' + (curve.colour % COLOURS));
const dashOfResult = result => result.index === 0 ? DASHES[0] : DASHES[1 + (result.index - 1) % (DASHES.length - 1)];
const dashOf = curve => curve.difference ? [2, 3] : dashOfResult(curve.result);

// The first colour that none of these curves has.
function freeColour(curves) {
  const used = new Set(curves.map(c => c.colour));
  let colour = 0;
  while (used.has(colour)) colour++;
  return colour;
}
