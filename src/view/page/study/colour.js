// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The colour of a case: the place of a factor or a measure on a scale of colours, or one colour for all.

const LEVELS = 64; // of a case
const NO_COLOUR = 255; // the case has no number there
// dark ends on white, bright ends on black; both are told apart without red or green
const COLOUR_STOPS = {
  light: [[13, 8, 135], [106, 0, 168], [177, 42, 144], [217, 80, 92], [224, 130, 30], [214, 170, 0]],
  dark: [[92, 110, 255], [160, 90, 240], [214, 90, 190], [245, 120, 120], [253, 165, 80], [245, 225, 80]],
};
const isDark = () => document.documentElement.classList.contains('dark');

function mixed(stops, part) {
  const at = Math.min(1, Math.max(0, part)) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(at)), f = at - i;
  return stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * f));
}

function rgbOf(hex) { return [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)); }

const colour = {
  column: null, // null: one colour
  levels: new Uint8Array(DATA.cases),

  update() {
    const {column, levels} = this;
    if (!column) { levels.fill(0); return; }
    const {values, scale} = column;
    for (let i = 0; i < levels.length; i++) {
      const part = scale.part(values[i]);
      levels[i] = part >= -1e-9 && part <= 1 + 1e-9 ? Math.min(LEVELS - 1, Math.max(0, Math.floor(part * LEVELS))) : NO_COLOUR;
    }
  },
  stops() { return this.column ? COLOUR_STOPS[isDark() ? 'dark' : 'light'] : Array(2).fill(rgbOf(css('--c0'))); },
  // 256 colours, as a raster mixes them.
  table() { const stops = this.stops(); return Array.from({length: 256}, (_, i) => mixed(stops, i / 255)); },
  cssOf(i) {
    const level = this.levels[i];
    return level === NO_COLOUR ? css('--axis') : 'rgb(' + mixed(this.stops(), this.column ? level / (LEVELS - 1) : 0).join(',') + ')';
  },
  gradient() { return 'linear-gradient(to right,' + this.stops().map(s => 'rgb(' + s.join(',') + ')').join(',') + ')'; },
};
