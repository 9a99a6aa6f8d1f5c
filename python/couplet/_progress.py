# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The progress of a run or a study: a line in a terminal, or a text in a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any, Mapping, Optional

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


class _Line:
    """A line that is drawn again and again, once the work takes longer than a second."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = False
        self._handle: Any = None

    def _bar(self, part: float) -> str:
        blocks = int(24 * part)
        return f"{'█' * blocks}{'░' * (24 - blocks)} {100 * part:3.0f} %"

    def _is_early(self) -> bool:
        return time.monotonic() - self._began < _PATIENCE

    def _show(self, text: str) -> None:
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


class Progress(_Line):
    """Of a run: called with the time reached and the step size; :meth:`close` removes what it shows."""

    def __init__(self, start: float, stop: float) -> None:
        super().__init__()
        self.start, self.stop = start, stop

    def text(self, t: float, h: float) -> str:
        """One line: the share, the time, the remaining time."""
        passed = time.monotonic() - self._began
        part = (t - self.start) / (self.stop - self.start) if self.stop > self.start else 1.0
        part = min(1.0, max(0.0, part))
        left = f"  {_duration(passed * (1 - part) / part)} left" if part > 0 else ""
        return f"{self._bar(part)}  t = {t:.6g} s  step {h:.2g}{left}"

    def __call__(self, t: float, h: float) -> None:
        if not self._is_early():
            self._show(self.text(t, h))


class StudyProgress(_Line):
    """Of a study: called with a dict of numbers of cases; :meth:`close` removes what it shows."""

    def text(self, p: Mapping[str, Any]) -> str:
        """One line: the share, the cases, the rate, the remaining time, the failures."""
        part = p["done"] / p["total"]
        left = f"  {_duration((p['total'] - p['done']) / p['rate'])} left" if p["rate"] > 0 else ""
        failed = f"  {p['failed']} failed" if p["failed"] > 0 else ""
        return f"{self._bar(part)}  {p['done']} of {p['total']} cases  {p['rate']:.3g} per s{left}{failed}"

    def __call__(self, p: Mapping[str, Any]) -> None:
        if not self._is_early():
            self._show(self.text(p))


def _is_wanted(wanted: Any) -> bool:
    if wanted is None:
        wanted = _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    return wanted is True


def make_progress(wanted: Any) -> Optional[Progress]:
    """The line that a run shows; None: it shows none."""
    return Progress(0.0, 1.0) if _is_wanted(wanted) else None


def make_study_progress(wanted: Any) -> Optional[StudyProgress]:
    """The line that a study shows; None: it shows none."""
    return StudyProgress() if _is_wanted(wanted) else None
