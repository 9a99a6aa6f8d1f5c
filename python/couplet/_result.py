# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Results of runs: columns over time, as numpy arrays."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Optional, Union

from . import _core
from ._errors import unknown_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

__all__ = ["Result", "Column", "read"]

_open = open  # `open` is an argument below


class Column(NamedTuple):
    """What is known of a column of a result."""

    name: str
    #: the unit; None: it has none
    unit: Optional[str]
    description: str
    #: "Real", "Integer", "Boolean", "Enumeration", "String", "Clock"
    type: str
    is_unsigned: bool
    #: a parameter or constant: the same in every row
    constant: bool


class Result(Mapping[str, "NDArray[Any]"]):
    """The recorded variables of a run over time: a mapping of names to arrays.

    An event has two rows with the same time, before and after it. The arrays share the memory of
    the result.

    >>> import couplet
    >>> r = couplet.simulate("examples/bouncing_ball/bouncing_ball.c", stop=1)
    >>> r.names
    ('h', 'v')
    >>> r["h"][0], r.units["h"]
    (1.0, 'm')
    >>> len(r.time) == len(r["v"])
    True
    """

    def __init__(
        self,
        columns: list[Column],
        time: NDArray[np.float64],
        values: dict[str, NDArray[Any]],
        stats: Optional[dict[str, Any]] = None,
        model: str = "",
    ) -> None:
        self._columns = {c.name: c for c in columns}
        self._values = values
        #: the times of the rows [s]
        self.time: NDArray[np.float64] = time
        #: statistics of the run: steps, evaluations, events, times
        self.stats: dict[str, Any] = stats if stats is not None else {}
        #: the file that was simulated
        self.model: str = model

    @classmethod
    def _from_rows(
        cls, rows: _core.Rows, stats: Optional[dict[str, Any]] = None, model: str = ""
    ) -> Result:
        import numpy as np

        columns = [Column(*c) for c in rows[0]]
        cells = np.frombuffer(rows[1], dtype=np.float64).reshape(len(columns) + 1, -1)
        values: dict[str, NDArray[Any]] = {}
        for column, cell in zip(columns, cells[1:]):
            if column.type == "Real":
                values[column.name] = cell
            elif column.type == "String":
                texts = np.empty(len(cell), dtype=object)
                texts[:] = rows[2][column.name]
                values[column.name] = texts
            elif column.type in ("Boolean", "Clock"):  # the lowest byte of each cell
                values[column.name] = cell.view(np.bool_)[::8]
            else:
                kind = np.uint64 if column.is_unsigned else np.int64
                values[column.name] = cell.view(kind)
        return cls(columns, cells[0], values, stats, model)

    #------------------------------------ mapping ------------------------------------

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name == "time" and name not in self._values:
            return self.time
        try:
            return self._values[name]
        except KeyError:
            pass
        raise unknown_name("the result has no column", name, list(self._values)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        rows = len(self.time)
        span = f", t = {self.time[0]:g} ... {self.time[-1]:g} s" if rows else ""
        of = f" of {self.model}" if self.model else ""
        return f"<couplet.Result{of}: {len(self)} columns, {rows} rows{span}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, without time."""
        return tuple(self._values)

    @property
    def columns(self) -> Mapping[str, Column]:
        """Unit, description and type of each column."""
        return self._columns

    @property
    def units(self) -> dict[str, Optional[str]]:
        """The unit of each column; None: it has none."""
        return {name: c.unit for name, c in self._columns.items()}

    @property
    def events(self) -> NDArray[np.float64]:
        """The times at which values were recorded before and after an event."""
        import numpy as np

        repeated: NDArray[np.float64] = np.unique(self.time[1:][np.diff(self.time) == 0])
        return repeated

    #------------------------------------ elsewhere ------------------------------------

    def to_pandas(self) -> Any:
        """A pandas DataFrame whose index is the time.

        >>> import couplet
        >>> r = couplet.simulate("examples/bouncing_ball/bouncing_ball.c", stop=1)
        >>> list(r.to_pandas().columns)
        ['h', 'v']
        """
        import importlib

        pandas: Any = importlib.import_module("pandas")

        index = pandas.Index(self.time, name="time")
        return pandas.DataFrame({n: v for n, v in self._values.items()}, index=index)

    def plot(self, *names: str, ax: Any = None) -> Any:
        """Draw columns over time with matplotlib, one panel per unit; returns the axes.

        Without names all columns that change are drawn. ``ax`` draws all of them there.
        """
        import importlib

        import numpy as np

        plt: Any = importlib.import_module("matplotlib.pyplot")

        chosen = list(names) or [
            n for n, v in self._values.items() if v.dtype != object and np.any(v != v[:1])
        ]
        units: dict[Optional[str], list[str]] = {}
        for name in chosen:
            self[name]  # raises the error for an unknown one
            units.setdefault(self._columns[name].unit, []).append(name)
        if ax is not None:
            axes = [ax] * len(units)
        else:
            panels = max(1, len(units))
            figure, grid = plt.subplots(
                panels, 1, sharex=True, squeeze=False, figsize=(8, 1.5 + 2 * panels)
            )
            axes = list(grid[:, 0])
        for axis, (unit, group) in zip(axes, units.items()):
            for name in group:
                discrete = self._columns[name].type != "Real"
                style = "steps-post" if discrete else "default"
                axis.plot(self.time, self._values[name], label=name, drawstyle=style)
            axis.set_ylabel(f"[{unit}]" if unit else "")
            axis.legend(loc="best")
        if axes:
            axes[-1].set_xlabel("time [s]")
        return axes[0] if ax is not None or len(axes) == 1 else axes

    def _frame(self) -> tuple[list[_core.Column], list[Any]]:
        """Columns and values, as the library takes them: cells of eight bytes, or texts."""
        import numpy as np

        kinds: dict[str, Any] = {"Real": np.float64}
        values: list[Any] = [np.ascontiguousarray(self.time, dtype=np.float64)]
        for name, column in self._columns.items():
            value = self._values[name]
            if column.type == "String":
                values.append([str(text) for text in value])
            else:
                kind = np.uint64 if column.is_unsigned else kinds.get(column.type, np.int64)
                values.append(np.ascontiguousarray(value, dtype=kind))
        return list(self._columns.values()), values

    def save(self, path: Path, *, units: bool = False) -> None:
        """Write a file as ``couplet run`` does: .csv or .mat. ``units``: "v [m/s]" in a .csv."""
        columns, values = self._frame()
        _core.save(os.fsencode(path), columns, values, units, self.model or None)

    def view(self, path: Optional[Path] = None, *only: str, open: Optional[bool] = None) -> str:
        """Write an interactive page (.html) or a picture (.svg), and open the page in a browser.

        Without a path the page is a temporary file. ``only``: the columns that are shown first.
        Returns the path.
        """
        if path is None:
            import tempfile

            where = os.path.join(tempfile.mkdtemp(prefix="couplet-"), "result.html")
        else:
            where = os.fsdecode(path)
        columns, values = self._frame()
        title = os.path.basename(self.model) or None
        _core.view(os.fsencode(where), columns, values, title, tuple(only))
        if path is None if open is None else open:
            import webbrowser

            webbrowser.open("file://" + os.path.abspath(where))
        return where

    def _repr_html_(self) -> str:
        """In a notebook: the interactive page, inside of the notebook and without network."""
        import html
        import tempfile

        with tempfile.TemporaryDirectory(prefix="couplet-") as folder:
            path = os.path.join(folder, "result.html")
            self.view(path, open=False)
            with _open(path, encoding="utf-8") as page:
                text = html.escape(page.read())
        style = "width: 100%; height: 480px; border: none"
        return f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{text}" style="{style}"></iframe>'

    #------------------------------------ pickling ------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        import numpy as np

        values = {n: np.array(v) for n, v in self._values.items()}
        columns = list(self._columns.values())
        return (Result, (columns, np.array(self.time), values, self.stats, self.model))


def read(path: Path) -> Result:
    """Read a result file: .csv or .mat, of ``couplet run`` or :meth:`Result.save`."""
    return Result._from_rows(_core.read(os.fsencode(path)), None, os.fsdecode(path))
