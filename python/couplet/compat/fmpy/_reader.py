# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Reads modelDescription.xml of FMI 1.0, 2.0 and 3.0."""

from __future__ import annotations

import copy
import math
import os
from typing import Any, Callable, Iterable, Optional, TypeVar

from . import model_description as md
from ._schema import check_schema
from ._xml import Element, parse, read_bytes

T = TypeVar("T")


def _binary(text: str) -> bytes:
    return bytes.fromhex(text)


_INTEGERS = ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64")
_PYTHON_TYPES: dict[str, Callable[[Any], Any]] = {
    "Real": float,
    "Float32": float,
    "Float64": float,
    "Clock": float,
    "Integer": int,
    "Enumeration": int,
    **dict.fromkeys(_INTEGERS, int),
    "Boolean": bool,
    "String": str,
    "Binary": _binary,
}
_REALS = ("Real", "Float32", "Float64")
_PARAMETERS = ("parameter", "calculatedParameter", "structuralParameter")

# the default of `initial`, by variability and causality
_INITIAL: dict[tuple[str, str], Optional[str]] = {
    ("constant", "output"): "exact",
    ("constant", "local"): "exact",
    **{
        (variability, causality): initial
        for variability in ("fixed", "tunable")
        for causality, initial in (
            ("structuralParameter", "exact"),
            ("parameter", "exact"),
            ("calculatedParameter", "calculated"),
            ("local", "calculated"),
        )
    },
    **{
        (variability, causality): initial
        for variability in ("discrete", "continuous")
        for causality, initial in (
            ("input", "exact"),
            ("output", "calculated"),
            ("local", "calculated"),
        )
    },
    ("continuous", "independent"): None,
}


def _fill(target: T, element: Element, names: Iterable[str]) -> T:
    """Attributes of an element become those of an object, with the types that these have."""
    for name in names:
        text = element.get(name)
        if text is None:
            continue
        value = getattr(target, name)
        if isinstance(value, bool):
            setattr(target, name, text in ("true", "1"))
        elif isinstance(value, (int, float)):
            setattr(target, name, type(value)(text))
        else:
            setattr(target, name, text)
    return target


def _fields(target: Any) -> list[str]:
    return [name for name in vars(target) if not name.startswith("_")]


#------------------------------------ the FMU ------------------------------------


def _read_kinds(root: Element, result: md.ModelDescription, version: int) -> None:
    if version == 1:
        identifier = root.get("modelIdentifier")
        if root.find("Implementation") is not None:
            result.coSimulation = md.CoSimulation(modelIdentifier=identifier)
        else:
            result.modelExchange = md.ModelExchange(modelIdentifier=identifier)
        return

    def kind(target: md.InterfaceType, element: Element) -> Any:
        _fill(target, element, _fields(target))
        if version == 3:
            target.canGetAndSetFMUstate = element.flag("canGetAndSetFMUState")
            target.canSerializeFMUstate = element.flag("canSerializeFMUState")
        elif isinstance(target, md.ModelExchange):
            target.needsCompletedIntegratorStep = not element.flag(
                "completedIntegratorStepNotNeeded"
            )
            target.completedIntegratorStepNotNeeded = False
        return target

    for element in root:
        if element.tag == "ModelExchange":
            result.modelExchange = kind(md.ModelExchange(), element)
        elif element.tag == "CoSimulation":
            result.coSimulation = kind(md.CoSimulation(), element)
        elif element.tag == "ScheduledExecution" and version == 3:
            result.scheduledExecution = kind(md.ScheduledExecution(), element)


def _read_sources(root: Element, result: md.ModelDescription) -> None:
    """The source files of FMI 2.0; kinds with the same identifier share them."""
    for element in root.findall("ModelExchange") + root.findall("CoSimulation"):
        identifier = element.get("modelIdentifier")
        known = result.buildConfigurations
        if known and known[0].modelIdentifier == identifier:
            continue
        files = [str(file.get("name")) for file in element.findall("SourceFiles/File")]
        if files:
            sources = md.SourceFileSet(sourceFiles=files)
            known.append(md.BuildConfiguration(identifier, [sources]))


def read_build(filename: md.Source) -> list[md.BuildConfiguration]:
    """The build description of an FMU of FMI 3.0."""
    data = read_bytes(filename, "sources/buildDescription.xml")
    if data is None:
        return []
    root = parse(data)
    version = root.get("fmiVersion")
    if version is None or not version.startswith("3.0"):
        raise Exception(f"Unsupported fmiBuildDescription version: {version}")
    result = []
    for element in root.findall("BuildConfiguration"):
        configuration = md.BuildConfiguration(element.get("modelIdentifier"))
        for part in element.findall("SourceFileSet"):
            sources = md.SourceFileSet(language=part.get("language"))
            for macro in part.findall("PreprocessorDefinition"):
                definition = md.PreProcessorDefinition()
                _fill(definition, macro, ("name", "value", "optional", "description"))
                sources.preprocessorDefinitions.append(definition)
            sources.sourceFiles = [str(f.get("name")) for f in part.findall("SourceFile")]
            sources.includeDirectories = [
                str(f.get("name")) for f in part.findall("IncludeDirectory")
            ]
            configuration.sourceFileSets.append(sources)
        result.append(configuration)
    return result


#------------------------------------ units and types ------------------------------------


def _read_units(root: Element, version: int) -> list[md.Unit]:
    units = []
    if version == 1:
        for element in root.findall("UnitDefinitions/BaseUnit"):
            unit = md.Unit(element.get("unit"))
            for shown in element.findall("DisplayUnitDefinition"):
                gain, offset = shown.get("gain", "1"), shown.get("offset", "0")
                name = shown.get("displayUnit")
                unit.displayUnits.append(
                    md.DisplayUnit(name, float(str(gain)), float(str(offset)))
                )
            units.append(unit)
        return units
    for element in root.findall("UnitDefinitions/Unit"):
        unit = md.Unit(element.get("name"))
        for base in element.findall("BaseUnit"):
            unit.baseUnit = md.BaseUnit()
            _fill(unit.baseUnit, base, _fields(unit.baseUnit))
        for shown in element.findall("DisplayUnit"):
            display = md.DisplayUnit(shown.get("name"))
            unit.displayUnits.append(_fill(display, shown, ("factor", "offset")))
        units.append(unit)
    return units


def _read_type(name: Optional[str], kind: str, element: Element, version: int) -> md.SimpleType:
    result = md.SimpleType(name=name, type=kind)
    _fill(result, element, set(_fields(result)) - {"name", "type", "items"})
    for number, item in enumerate(element.findall("Item"), 1):
        value = str(number) if version == 1 else item.get("value")
        result.items.append(md.Item(item.get("name"), value, item.get("description")))
    return result


def _read_types(root: Element, version: int) -> list[md.SimpleType]:
    types = []
    if version == 3:
        for element in root.findall("TypeDefinitions"):
            for child in element:
                kind = child.tag.removesuffix("Type")
                if kind != child.tag and kind in _PYTHON_TYPES and kind != "Clock":
                    types.append(_read_type(child.get("name"), kind, child, version))
        return types
    tag = "Type" if version == 1 else "SimpleType"
    for element in root.findall("TypeDefinitions/" + tag):
        child = element.children[0]
        kind = child.tag.removesuffix("Type") if version == 1 else child.tag
        types.append(_read_type(element.get("name"), kind, child, version))
    return types


#------------------------------------ variables ------------------------------------


def _variability_of(variable: md.ModelVariable, version: int) -> str:
    if version < 3:
        return "continuous"
    if variable.causality in _PARAMETERS:
        return "fixed"
    return "continuous" if variable.type in _REALS else "discrete"


def _read_value(variable: md.ModelVariable, element: Element) -> None:
    """What belongs to the type of a variable."""
    kind = str(variable.type)
    if kind in _REALS:
        _fill(variable, element, ("unit", "displayUnit", "derivative", "nominal", "unbounded"))
        if "relativeQuantity" in element.attrib:
            variable.relativeQuantity = element.flag("relativeQuantity")
    if kind in _REALS or kind in ("Integer", "Enumeration", *_INTEGERS):
        _fill(variable, element, ("quantity", "min", "max"))
    if kind in ("String", "Binary") and element.tag == kind and element.find("Start") is not None:
        variable.start = element.findall("Start")[0].get("value")
    else:
        variable.start = element.get("start")


def _read_variable(
    element: Element, version: int, types: dict[Optional[str], md.SimpleType]
) -> md.ModelVariable:
    value = element
    if version < 3:
        value = next(e for e in element if e.tag in _PYTHON_TYPES)
    result = md.ModelVariable(
        name=str(element.get("name")), valueReference=int(str(element.get("valueReference")))
    )
    result.type = value.tag
    result._python_type = _PYTHON_TYPES[value.tag]
    result.sourceline = element.sourceline
    result.causality = "local"
    _fill(result, element, ("description", "causality", "variability", "initial"))
    if version == 3:
        result.clocks = element.get("clocks")
        result.intervalVariability = element.get("intervalVariability")
    _read_value(result, value)
    for alias in element.findall("Alias"):
        result.aliases.append(
            md.VariableAlias(
                str(alias.get("name")), alias.get("description"), alias.get("displayUnit")
            )
        )
    for dimension in element.findall("Dimension"):
        start, reference = dimension.get("start"), dimension.get("valueReference")
        result.dimensions.append(
            md.Dimension(
                None if start is None else int(start),
                None if reference is None else int(reference),
            )
        )
    declared = value.get("declaredType")
    if declared is not None and declared not in types:
        raise Exception(
            f'Variable "{result.name}" (line {result.sourceline}) has declaredType="{declared}" '
            "which has not been defined."
        )
    result.declaredType = types.get(declared)
    _complete(result, version)
    return result


def _complete(variable: md.ModelVariable, version: int) -> None:
    """Defaults of causality, variability and initial; FMI 1.0 has other names for some."""
    if version == 1:
        if variable.causality == "internal":
            variable.causality = "local"
        if variable.variability == "parameter":
            variable.causality, variable.variability = "parameter", "fixed"
    if variable.variability is None:
        variable.variability = _variability_of(variable, version)
    if variable.initial is None and version > 1:
        pair = (variable.variability, str(variable.causality))
        if pair not in _INITIAL:
            raise Exception(
                f'Variable "{variable.name}" (line {variable.sourceline}) has an illegal '
                f'combination of causality="{variable.causality}" and '
                f'variability="{variable.variability}".'
            )
        variable.initial = _INITIAL[pair]


def _size_of(variable: md.ModelVariable, dimension: md.Dimension) -> int:
    where = f'dimension of variable "{variable.name}" (line {variable.sourceline})'
    if dimension.start is not None:
        return dimension.start
    if dimension.variable is None:
        raise Exception(f"A {where} is neither a number nor a variable.")
    if dimension.variable.start is None:
        raise Exception(f'"{dimension.variable.name}", a {where}, has no start value.')
    return int(dimension.variable.start)


def _set_shapes(variables: list[md.ModelVariable], by_ref: dict[int, md.ModelVariable]) -> None:
    for variable in variables:
        for dimension in variable.dimensions:
            if dimension.start is None and dimension.valueReference is not None:
                dimension.variable = by_ref.get(dimension.valueReference)
        variable.shape = tuple(_size_of(variable, d) for d in variable.dimensions)


def _aliases(variables: list[md.ModelVariable]) -> list[md.ModelVariable]:
    """Other names as variables of their own."""
    result = []
    for variable in variables:
        for alias in variable.aliases:
            other = copy.copy(variable)
            other.name, other.alias = alias.name, variable
            other.description = alias.description or variable.description
            other.displayUnit = alias.displayUnit or variable.displayUnit
            result.append(other)
    return result


#------------------------------------ structure ------------------------------------


def _read_unknown(
    element: Element, find: Callable[[int], md.ModelVariable], key: str
) -> md.Unknown:
    result = md.Unknown(sourceline=element.sourceline)
    result.variable = find(int(str(element.get(key))))
    dependencies = element.get("dependencies")
    if dependencies is not None:
        result.dependencies = [find(int(text)) for text in dependencies.split()]
    kinds = element.get("dependenciesKind")
    if kinds is not None:
        result.dependenciesKind = kinds.split()
    return result


def _resolve_derivatives(
    variables: list[md.ModelVariable],
    find: Callable[[int], Optional[md.ModelVariable]],
    what: str,
) -> None:
    for variable in variables:
        if variable.derivative is None:
            continue
        number = int(variable.derivative)
        state = find(number)
        if state is None:
            raise md.ValidationError(
                [
                    f"The derivative attribute of model variable {variable.name} (line "
                    f"{variable.sourceline}) references {what} {number} which does not exist."
                ]
            )
        variable.derivative = state


def _structure_2(root: Element, result: md.ModelDescription) -> None:
    variables = result.modelVariables

    def at(index: int) -> md.ModelVariable:
        return variables[index - 1]

    for part, tag in (
        (result.outputs, "Outputs"),
        (result.derivatives, "Derivatives"),
        (result.initialUnknowns, "InitialUnknowns"),
    ):
        elements = root.findall(f"ModelStructure/{tag}/Unknown")
        part.extend(_read_unknown(element, at, "index") for element in elements)
    _resolve_derivatives(
        variables,
        lambda i: variables[i - 1] if 0 < i <= len(variables) else None,
        "model variable index",
    )


def _structure_3(
    root: Element, result: md.ModelDescription, by_ref: dict[int, md.ModelVariable]
) -> None:
    result.modelVariables += _aliases(result.modelVariables)
    for part, tag in (
        (result.outputs, "Output"),
        (result.derivatives, "ContinuousStateDerivative"),
        (result.clockedStates, "ClockedState"),
        (result.initialUnknowns, "InitialUnknown"),
        (result.eventIndicators, "EventIndicator"),
    ):
        elements = root.findall("ModelStructure/" + tag)
        part.extend(_read_unknown(e, by_ref.__getitem__, "valueReference") for e in elements)
    _resolve_derivatives(result.modelVariables, by_ref.get, "value reference")
    for variable in result.modelVariables:
        if variable.clocks is not None:
            variable.clocks = [by_ref[int(text)] for text in variable.clocks.split()]

    def count(unknowns: list[md.Unknown]) -> int:
        return sum(math.prod(unknown.variable.shape or ()) for unknown in unknowns)

    result.numberOfContinuousStates = count(result.derivatives)
    result.numberOfEventIndicators += count(result.eventIndicators)


#------------------------------------ the file ------------------------------------

_ATTRIBUTES = (
    "fmiVersion",
    "modelName",
    "guid",
    "description",
    "author",
    "version",
    "copyright",
    "license",
    "generationTool",
    "generationDateAndTime",
    "variableNamingConvention",
    "numberOfEventIndicators",
)


def _version_of(root: Element) -> int:
    text = root.get("fmiVersion")
    if text in ("1.0", "2.0"):
        return int(text[0])
    if text is not None and text.startswith("3."):
        return 3
    raise Exception(f"Unsupported FMI version: {text}")


def _is_xml(filename: md.Source) -> bool:
    return isinstance(filename, (str, os.PathLike)) and os.fspath(filename).endswith(".xml")


def read(filename: md.Source, validate: bool) -> md.ModelDescription:
    """The model description of an FMU, a folder, or an XML file."""
    data = read_bytes(filename, "modelDescription.xml")
    if data is None:
        raise FileNotFoundError(f"There is no modelDescription.xml in {filename}.")
    root = parse(data)
    version = _version_of(root)
    if validate:
        problems = check_schema(root, version)
        if problems:
            raise md.ValidationError(problems)

    result = _fill(md.ModelDescription(), root, _ATTRIBUTES)
    if version == 3:
        result.guid = root.get("instantiationToken")
    if version == 1:
        result.numberOfContinuousStates = int(str(root.get("numberOfContinuousStates")))
    for category in root.findall("LogCategories/Category"):
        result.logCategories.append(
            md.Category(category.get("name"), category.get("description"))
        )
    for experiment in root.findall("DefaultExperiment"):
        result.defaultExperiment = _fill(
            md.DefaultExperiment(), experiment, ("startTime", "stopTime", "tolerance", "stepSize")
        )
    _read_kinds(root, result, version)
    if version == 2:
        _read_sources(root, result)
    elif version == 3 and not _is_xml(filename):
        result.buildConfigurations = read_build(filename)
    result.unitDefinitions = _read_units(root, version)
    result.typeDefinitions = _read_types(root, version)

    types: dict[Optional[str], md.SimpleType] = {t.name: t for t in result.typeDefinitions}
    for element in root.findall("ModelVariables"):
        for child in element:
            if child.get("name") is not None:
                result.modelVariables.append(_read_variable(child, version, types))
    by_ref = {variable.valueReference: variable for variable in result.modelVariables}
    _set_shapes(result.modelVariables, by_ref)
    if version == 2:
        _structure_2(root, result)
        result.numberOfContinuousStates = len(result.derivatives)
    elif version == 3:
        _structure_3(root, result, by_ref)
    return result
