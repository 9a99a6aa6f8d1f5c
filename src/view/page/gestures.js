// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Mouse, touch and keys on a plot. Dragging a box is uPlot's; the rest is here.

function bindGestures(plot) {
  const surface = plot.surface, fingers = new Map();
  let grip = null;
  const box = () => plot.u.over.getBoundingClientRect();

  surface.addEventListener('wheel', e => {
    if (!plot.u || !(surface.contains(document.activeElement) || e.ctrlKey)) return; // the page scrolls until a plot is chosen
    e.preventDefault();
    const r = box(), factor = Math.exp(Math.max(-1, Math.min(1, (e.deltaY || e.deltaX) / 300)));
    if (e.shiftKey) plot.zoomY(factor, 1 - (e.clientY - r.top) / r.height, 0);
    else plot.zoomX(factor, (e.clientX - r.left) / r.width, 0);
  }, {passive: false});

  // A press that ends where it began pins the cursor. uPlot withholds some clicks, so that pointers count here.
  let pressed = null;
  surface.addEventListener('pointerdown', e => { pressed = e.isPrimary && e.button === 0 && !e.shiftKey ? [e.clientX, e.clientY] : null; });
  surface.addEventListener('pointercancel', () => { pressed = null; });
  surface.addEventListener('pointerup', e => {
    if (!plot.u || plot.phase || !pressed || Math.hypot(e.clientX - pressed[0], e.clientY - pressed[1]) >= 4) return;
    const r = box(), inside = e.clientX >= r.left && e.clientX <= r.right && e.clientY >= r.top && e.clientY <= r.bottom;
    if (inside) app.setPin({kind: plot.kind, x: plot.u.posToVal(e.clientX - r.left, 'x')});
  });

  surface.addEventListener('pointerdown', e => {
    if (!plot.u) return;
    if (e.pointerType === 'mouse' && !(e.button === 1 || (e.button === 0 && e.shiftKey))) { surface.focus({preventScroll: true}); return; }
    if (e.pointerType === 'mouse') e.preventDefault();
    surface.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, [e.clientX, e.clientY]);
    grip = spread();
  });
  surface.addEventListener('pointermove', e => {
    if (!fingers.has(e.pointerId) || !plot.u) return;
    fingers.set(e.pointerId, [e.clientX, e.clientY]);
    const now = spread(), r = box();
    if (now.width > 0 && grip.width > 0) plot.zoomX(grip.width / now.width, (now.x - r.left) / r.width, (grip.x - now.x) / r.width);
    else plot.zoomX(1, 0, (grip.x - now.x) / r.width);
    if (e.pointerType === 'mouse' || plot.phase) plot.zoomY(1, 0, (now.y - grip.y) / r.height);
    grip = now;
  });
  for (const end of ['pointerup', 'pointercancel']) {
    surface.addEventListener(end, e => { fingers.delete(e.pointerId); grip = spread(); });
  }
  function spread() {
    const points = [...fingers.values()];
    if (points.length === 0) return null;
    const x = points.reduce((s, p) => s + p[0], 0) / points.length, y = points.reduce((s, p) => s + p[1], 0) / points.length;
    return {x, y, width: points.length > 1 ? Math.hypot(points[0][0] - points[1][0], points[0][1] - points[1][1]) : 0};
  }
}

function bindKeys(plot) {
  const moves = {
    '+': () => plot.zoomX(0.7, 0.5, 0), '=': () => plot.zoomX(0.7, 0.5, 0), '-': () => plot.zoomX(1 / 0.7, 0.5, 0),
    ArrowUp: () => plot.zoomY(1, 0, 0.1), ArrowDown: () => plot.zoomY(1, 0, -0.1),
    ArrowLeft: e => e.shiftKey || plot.phase ? plot.zoomX(1, 0, -0.1) : step(-1),
    ArrowRight: e => e.shiftKey || plot.phase ? plot.zoomX(1, 0, 0.1) : step(1),
    Home: () => app.resetZoom(plot), 0: () => app.resetZoom(plot), Delete: () => app.remove(plot), Escape: () => { app.setPin(null); app.point(plot, null); },
  };
  function step(way) {
    const range = plot.rangeX(), scale = new Scale(...range, plot.logX), at = plot.pinned() ?? plot.shown;
    const part = at === null ? 0.5 : Math.min(1, Math.max(0, scale.part(at) + way / 100));
    app.point(plot, null);
    app.setPin({kind: plot.kind, x: scale.at(part)});
    document.getElementById('announce').textContent = plot.at.textContent + ': ' + plot.curves.filter(c => c.visible)
      .map(c => c.name + ' ' + c.value.textContent).join(', ');
  }
  plot.surface.addEventListener('keydown', e => {
    if (e.ctrlKey || e.altKey || e.metaKey || !moves[e.key]) return;
    e.preventDefault();
    moves[e.key](e);
  });
}
