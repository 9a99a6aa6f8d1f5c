# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Checks of model descriptions beyond their schema, with the messages of FMPy."""

from __future__ import annotations

import os
import re
import zipfile
from typing import Optional

from .model_description import ModelDescription, ModelVariable, Source, Unknown

# (causality, variability, initial) that the standard allows
_LEGAL: set[tuple[str, str, Optional[str]]] = {
    ("output", "constant", "exact"),
    ("local", "constant", "exact"),
    ("input", "discrete", "exact"),
    ("input", "continuous", "exact"),
    ("independent", "continuous", None),
}
for _v in ("fixed", "tunable"):
    _LEGAL |= {("structuralParameter", _v, "exact"), ("parameter", _v, "exact")}
    for _c in ("calculatedParameter", "local"):
        _LEGAL |= {(_c, _v, "calculated"), (_c, _v, "approx")}
for _v in ("discrete", "continuous"):
    _LEGAL |= {(c, _v, i) for c in ("output", "local") for i in ("calculated", "exact", "approx")}


def validate_fmu(filename: Source) -> list[str]:
    """All problems of the model description of an FMU, and of the names of its files."""
    from .model_description import ValidationError, read_model_description

    problems = []
    if isinstance(filename, str) and os.path.isfile(filename):
        with zipfile.ZipFile(filename) as archive:
            names = [entry.orig_filename for entry in archive.filelist]
        problems = [f'The file path "{n}" contains a backslash.' for n in names if "\\" in n]
    try:
        read_model_description(
            filename, validate=True, validate_variable_names=True, validate_model_structure=True
        )
    except ValidationError as error:
        problems = error.problems
    except Exception as error:
        problems = [str(error)]
    return problems


def validate_model_description(
    model_description: ModelDescription,
    validate_variable_names: bool = False,
    validate_model_structure: bool = False,
) -> list[str]:
    """The problems of a model description."""
    variables = model_description.modelVariables
    problems = _names(model_description) if validate_variable_names else []
    seen = set()
    for v in variables:
        if v.name in seen:
            problems.append(f'The variable name "{v.name}" (line {v.sourceline}) is not unique.')
        seen.add(v.name)
    for v in variables:
        if v.type not in ("Real", "Float32", "Float64") and v.variability == "continuous":
            problems.append(
                f'The variable "{v.name}" (line {v.sourceline}) is of type {v.type}'
                ' and must have variability != "continuous".'
            )
    if model_description.fmiVersion == "2.0" or model_description.fmiVersion.startswith("3.0"):
        problems += _starts(variables) + _units(model_description)
        if validate_model_structure:
            problems += _structure(model_description)
    if model_description.fmiVersion.startswith("3.0"):
        problems += _references(variables)
    return problems


def _starts(variables: list[ModelVariable]) -> list[str]:
    """Start values, and combinations of causality, variability and initial."""
    problems = []
    for v in variables:
        needed = v.initial in ("exact", "approx") or v.causality == "input"
        if needed and v.type != "Clock" and v.start is None:
            problems.append(f'Variable "{v.name}" (line {v.sourceline}) has no start value.')
    for v in variables:
        if (v.causality, v.variability, v.initial) not in _LEGAL:
            problems.append(
                f'The combination causality="{v.causality}" and variability="{v.variability}" '
                f'in variable "{v.name}" (line {v.sourceline}) is not allowed.'
            )
    for v in variables:
        for wrong, text in (
            (v.initial == "calculated", 'initial="calculated"'),
            (v.causality == "independent", 'causality="independent"'),
        ):
            if wrong and v.start:
                problems.append(
                    f'The variable "{v.name}" (line {v.sourceline}) has {text} but provides a '
                    "start value."
                )
    return problems


def _units(model_description: ModelDescription) -> list[str]:
    known = {u.name: {d.name for d in u.displayUnits} for u in model_description.unitDefinitions}
    problems = []
    for v in model_description.modelVariables:
        unit = v.unit
        if unit is None and v.declaredType is not None:
            unit = v.declaredType.unit
        if unit is not None and unit not in known:
            problems.append(
                f'The unit "{unit}" of variable "{v.name}" (line {v.sourceline}) is not defined.'
            )
        shown = known.get(unit, set())
        if v.displayUnit is not None and v.displayUnit not in shown:
            problems.append(
                f'The display unit "{v.displayUnit}" of variable "{v.name}" '
                f"(line {v.sourceline}) is not defined."
            )
        for alias in v.aliases:
            if alias.displayUnit is not None and alias.displayUnit not in shown:
                problems.append(
                    f'The display unit "{alias.displayUnit}" of the variable alias '
                    f'"{alias.name}" of variable "{v.name}" (line {v.sourceline}) is not defined.'
                )
    return problems


def _references(variables: list[ModelVariable]) -> list[str]:
    """Of FMI 3.0: one time, and references that are unique."""
    problems = []
    if sum(v.causality == "independent" for v in variables) != 1:
        problems.append("Exactly one independent variable must be defined.")
    first: dict[int, ModelVariable] = {}
    for v in variables:
        if v.valueReference in first and v.alias is None:
            other = first[v.valueReference]
            problems.append(
                f'Variable "{v.name}" (line {v.sourceline}) has the same value reference as '
                f'variable "{other.name}" (line {other.sourceline}).'
            )
        else:
            first[v.valueReference] = v
    return problems


#------------------------------------ structure ------------------------------------


def _dependencies(name: str, unknown: Unknown) -> list[str]:
    where = f"{name} (line {unknown.sourceline})"
    kinds, known = unknown.dependenciesKind, unknown.dependencies
    if kinds is None:
        return []
    if known is None:
        return [
            f"If dependenciesKind exists dependencies must also exist in the {where}.",
            "Either both or none of the dependencies and dependenciesKind attributes must exist "
            f"in the {where}.",
        ]
    if len(known) != len(kinds):
        return [
            "The number of elements in the dependencies and dependenciesKind attributes of the "
            f"{where} do not match."
        ]
    return []


def _initial_unknowns(description: ModelDescription) -> list[str]:
    guessed = ("approx", "calculated")
    expected = set()
    for v in description.modelVariables:
        if v.causality == "output" and v.initial in guessed and not v.clocks:
            expected.add(v)
        if v.causality == "calculatedParameter":
            expected.add(v)
    for unknown in description.derivatives:
        state = unknown.variable.derivative
        if not isinstance(state, ModelVariable):
            return []  # reported already
        expected.update(v for v in (state, unknown.variable) if v.initial in guessed)
    actual = {unknown.variable for unknown in description.initialUnknowns}
    if actual == expected:
        return []

    def names(variables: set[ModelVariable]) -> str:
        return ", ".join(sorted(v.name for v in variables))

    return [
        "ModelStructure/InitialUnknowns does not contain the expected set of variables."
        f" Expected {{{names(expected)}}} but was {{{names(actual)}}}."
    ]


def _structure(description: ModelDescription) -> list[str]:
    problems = []
    for name, unknowns in (
        ("outputs", description.outputs),
        ("derivative", description.derivatives),
        ("clocked state", description.clockedStates),
        ("event indicator", description.eventIndicators),
        ("initial unknown", description.initialUnknowns),
    ):
        for unknown in unknowns:
            problems += _dependencies(name, unknown)
    outputs = {v for v in description.modelVariables if v.causality == "output" and not v.alias}
    if outputs != {unknown.variable for unknown in description.outputs}:
        problems.append(
            "ModelStructure/Outputs must have exactly one entry for each variable with "
            'causality="output".'
        )
    for number, unknown in enumerate(description.derivatives, 1):
        v = unknown.variable
        if v.derivative is None:
            problems.append(
                f'The variable "{v.name}" (line {v.sourceline}) referenced by the continuous '
                f"state derivative {number} (line {unknown.sourceline}) must have the attribute "
                '"derivative".'
            )
    return problems + _initial_unknowns(description)


#------------------------------------ names ------------------------------------

_QUOTED = r"'(?:[\w!#$%&()*+,\-./:;<>=?@\[\]^{}|~ \"]|\\['\"?\\abfnrtv])+'"
_PART = rf"(?:[A-Za-z_]\w*|{_QUOTED})(?:\[\d+(?:,\d+)*\])?"
_PATH = rf"{_PART}(?:\.{_PART})*"
_STRUCTURED = re.compile(rf"(?:{_PATH}|der\({_PATH}(?:,\d+)?\))", re.ASCII)
_CONTROLS = (
    ("\r", "carriage return", "U+000D"),
    ("\n", "line feed", "U+000A"),
    ("\t", "tab", "U+0009"),
)


def _names(description: ModelDescription) -> list[str]:
    problems = []
    for v in description.modelVariables:
        if description.variableNamingConvention != "flat":
            if not _STRUCTURED.fullmatch(v.name):
                problems.append(
                    f'"{v.name}" (line {v.sourceline}) is not a legal variable name for naming '
                    'convention "structured".'
                )
            continue
        for character, name, code in _CONTROLS:
            if character in v.name:
                problems.append(
                    f'Variable "{v.name}" (line {v.sourceline}) contains an illegal {name} '
                    f"character ({code})."
                )
    return problems
