# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The progress of a run: a line in a terminal, or a text in a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any, Optional

_PATIENCE = 1.0  # a run that takes less shows nothing [s]


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and type(running).__name__ == "ZMQInteractiveShell"


def _duration(seconds: float) -> str:
    s = round(min(seconds, 1e9))
    if s < 60:
        return f"{s} s"
    return f"{s // 60} min {s % 60} s" if s < 3600 else f"{s // 3600} h {s % 3600 // 60} min"


class Progress:
    """Called with the time reached and the step size; :meth:`close` removes what it shows."""

    def __init__(self, start: float, stop: float) -> None:
        self.start, self.stop = start, stop
        self._began = time.monotonic()
        self._shown = False
        self._handle: Any = None

    def text(self, t: float, h: float) -> str:
        """One line: the share, the time, the remaining time."""
        passed = time.monotonic() - self._began
        part = (t - self.start) / (self.stop - self.start) if self.stop > self.start else 1.0
        part = min(1.0, max(0.0, part))
        left = f"  {_duration(passed * (1 - part) / part)} left" if part > 0 else ""
        blocks = int(24 * part)
        return f"{'█' * blocks}{'░' * (24 - blocks)} {100 * part:3.0f} %  t = {t:.6g} s  step {h:.2g}{left}"

    def __call__(self, t: float, h: float) -> None:
        if time.monotonic() - self._began < _PATIENCE:
            return
        text = self.text(t, h)
        if _in_notebook():
            from IPython.display import DisplayHandle  # type: ignore[import]

            if self._handle is None:
                self._handle = DisplayHandle()
                self._handle.display({"text/plain": text}, raw=True)
            else:
                self._handle.update({"text/plain": text}, raw=True)
        else:
            print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)
        self._shown = True

    def close(self) -> None:
        """Remove the line."""
        if not self._shown:
            return
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
        else:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        self._shown = False


def make_progress(wanted: Any) -> Optional[Progress]:
    """The line that a run shows; None: it shows none."""
    if wanted is None:
        wanted = _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    return Progress(0.0, 1.0) if wanted is True else None
