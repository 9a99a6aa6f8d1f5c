// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The cursor of a plot: values at a time or a frequency, in the chips and below. A click pins it: it stays when the pointer leaves.

const NEAR_EVENT = 4; // pixels

Object.assign(Plot.prototype, {
  pointed(u) {
    if (u.cursor.event == null || u.cursor.left < 0) { if (!this.keyed) app.point(this, null); return; }
    if (this.phase) this.pointPlane(u); else app.point(this, u.posToVal(u.cursor.left, 'x'));
  },

  // A spectrum has values at its frequencies only: the nearest one counts.
  valueOf(curve, x) {
    const line = this.baseOf(curve);
    if (!this.spectral) return valueAt(line.time, line.values, line.rows, x, false);
    if (line.rows < 2) return NaN;
    return line.values[Math.min(line.rows - 1, Math.max(0, Math.round(x / line.time[1])))];
  },

  // Values at a place (null: none, or those at the pin).
  values(x) {
    this.shown = x;
    if (this.phase) return;
    const at = x ?? this.pinned();
    for (const c of this.curves) c.value.textContent = at === null ? '' : short(this.valueOf(c, at));
    this.note();
  },
  pinned() { return app.pin?.kind === this.kind ? app.pin.x : null; },

  note() {
    if (this.phase && this.shown !== null) return;
    const at = this.shown ?? this.pinned(), parts = [];
    if (at !== null && !this.phase) parts.push(this.nameX + ' = ' + short(at) + ' ' + this.unitX, ...this.eventsAt(at));
    if (this.spectral) parts.push(this.spanText());
    if (Number(this.surface.dataset.hidden) > 0) parts.push(this.surface.dataset.hidden + ' values that are not above 0 are not shown');
    this.at.textContent = parts.join(', ');
  },
  eventsAt(x) {
    if (!this.u || this.spectral) return [];
    const near = eventsInView(this).filter(m => Math.abs(this.u.valToPos(m.t, 'x') - this.u.valToPos(x, 'x')) <= NEAR_EVENT);
    if (near.length === 0) return [];
    return ['event at ' + short(near[0].t) + ' s' + (results.length > 1 ? ' in ' + near[0].results.map(r => r.name).join(', ') : '')];
  },
  spanText() {
    const line = this.drawn.map(c => this.baseOf(c)).find(l => l.span);
    if (!line) return 'there is nothing to transform';
    if (line.rows === 0) return 'values are missing in this time, so that there is no spectrum';
    return 'from ' + short(line.span[0]) + ' s to ' + short(line.span[1]) + ' s, ' + line.samples + ' samples';
  },

  follow(x) {
    if (this.phase) return;
    if (this.u) this.u.setCursor(x === null ? {left: -10, top: -10} : {left: this.u.valToPos(x, 'x'), top: 0}, false);
    this.values(x);
  },

  // The line at the pin.
  showPin() {
    const x = this.pinned();
    this.pinLine?.remove();
    this.surface.dataset.pin = x ?? '';
    if (x === null || !this.u) return;
    const left = this.u.valToPos(x, 'x');
    if (!(left >= 0 && left <= this.u.over.clientWidth)) return;
    this.pinLine = make('div', {className: 'pin'});
    this.pinLine.style.left = left + 'px';
    this.u.over.append(this.pinLine);
  },

  pointPlane(u) {
    let best = Infinity, found = null;
    for (const c of this.drawn) {
      const to = this.transform(u, this.keyOf(c)), across = this.acrossOf(c).values, values = this.lineOf(c).values, scale = devicePixelRatio;
      const x = u.cursor.left * scale + u.bbox.left, y = u.cursor.top * scale + u.bbox.top;
      for (let i = 0; i < c.rows; i++) {
        const d = (to.x(across[i]) - x) ** 2 + (to.y(values[i]) - y) ** 2;
        if (d < best) { best = d; found = [c, i, across]; }
      }
    }
    this.shown = found ? found[1] : null;
    for (const c of this.curves) c.value.textContent = found && c === found[0] ? short(c.values[found[1]]) : '';
    this.at.textContent = found ? this.across + ' = ' + short(found[2][found[1]]) + ', time = ' + short(found[0].time[found[1]]) + ' s' : '';
  },
});
