// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Draws views a few milliseconds per frame, so that the page answers at once however many cases there are. What a view has begun is
// finished with what is selected by then, so that pictures keep up with a brush that moves all the time.

const FRAME_MS = 8;

const painter = {
  waiting: new Set(), running: null, asked: false,

  // view.draw() is a generator that yields where it may be interrupted.
  request(view) {
    this.waiting.add(view);
    document.documentElement.dataset.busy = 'true';
    if (!this.asked) { this.asked = true; requestAnimationFrame(() => this.frame()); }
  },
  next() {
    const view = [...this.waiting].find(v => v.isInView !== false);
    if (!view) return null;
    this.waiting.delete(view);
    return view.draw();
  },
  frame() {
    const end = performance.now() + FRAME_MS;
    this.asked = false;
    while (performance.now() < end) {
      this.running ??= this.next();
      if (!this.running) break;
      if (this.running.next().done) this.running = null;
    }
    if (this.running || [...this.waiting].some(v => v.isInView !== false)) { this.asked = true; requestAnimationFrame(() => this.frame()); }
    else document.documentElement.dataset.busy = 'false';
  },
};
