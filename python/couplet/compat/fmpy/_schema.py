# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Checks of the elements and attributes of modelDescription.xml, with the messages of a validator.

A type of elements is a line: its name, its attributes, and after ">" its content. An attribute is
``name``, ``name:type`` or, where it is required, ``name!:type``; a type is that of a number, some
words separated by "|", or a list of either in brackets. A part of the content is ``tag``, or
``tag=type`` where the type has another name, with "?", "*" or "+"; "|" separates alternatives.
"&name" inserts the attributes of a type. The content "any" is not checked.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Iterator, NamedTuple, Optional

from ._xml import Element

_FMI1 = """
fmiModelDescription fmiVersion! modelName! modelIdentifier! guid! description author version \
generationTool generationDateAndTime:dateTime variableNamingConvention:flat|structured \
numberOfContinuousStates!:unsignedInt numberOfEventIndicators!:unsignedInt > UnitDefinitions? \
TypeDefinitions? DefaultExperiment? VendorAnnotations? ModelVariables? Implementation?
UnitDefinitions > BaseUnit*
BaseUnit unit! > DisplayUnitDefinition*
DisplayUnitDefinition displayUnit! gain:double offset:double
TypeDefinitions > Type*
Type name! description > RealType|IntegerType|BooleanType=any|StringType=any|EnumerationType
RealType quantity unit displayUnit relativeQuantity:boolean min:double max:double nominal:double
IntegerType quantity min:int max:int
any > any
EnumerationType &IntegerType > Item*
Item name! description
DefaultExperiment startTime:double stopTime:double tolerance:double
VendorAnnotations > Tool*
Tool name! > Annotation*
Annotation name! value!
ModelVariables > ScalarVariable*
ScalarVariable name! valueReference!:unsignedInt description \
variability:constant|parameter|discrete|continuous causality:input|output|internal|none \
alias:noAlias|alias|negatedAlias > Real|Integer|Boolean|String|Enumeration DirectDependency?
Real declaredType &RealType start:double fixed:boolean
Integer declaredType &IntegerType start:int fixed:boolean
Boolean declaredType start:boolean fixed:boolean
String declaredType start fixed:boolean
Enumeration declaredType! &IntegerType start:int fixed:boolean
DirectDependency > Name=any*
Implementation > CoSimulation_StandAlone|CoSimulation_Tool
CoSimulation_StandAlone > Capabilities
CoSimulation_Tool > Capabilities Model
Capabilities canHandleVariableCommunicationStepSize:boolean canHandleEvents:boolean \
canRejectSteps:boolean canInterpolateInputs:boolean maxOutputDerivativeOrder:unsignedInt \
canRunAsynchronuously:boolean canSignalEvents:boolean \
canBeInstantiatedOnlyOncePerProcess:boolean canNotUseMemoryManagementFunctions:boolean
Model entryPoint! manualStart:boolean type! > File*
File file!
"""

_FMI2 = """
fmiModelDescription fmiVersion! modelName! guid! description author version copyright license \
generationTool generationDateAndTime:dateTime variableNamingConvention:flat|structured \
numberOfEventIndicators:unsignedInt > ModelExchange? CoSimulation? ModelExchange? CoSimulation? \
UnitDefinitions? TypeDefinitions? LogCategories? DefaultExperiment? \
VendorAnnotations=Annotations? ModelVariables ModelStructure
Kind modelIdentifier! needsExecutionTool:boolean canBeInstantiatedOnlyOncePerProcess:boolean \
canNotUseMemoryManagementFunctions:boolean canGetAndSetFMUstate:boolean \
canSerializeFMUstate:boolean providesDirectionalDerivative:boolean
ModelExchange &Kind completedIntegratorStepNotNeeded:boolean > SourceFiles?
CoSimulation &Kind canHandleVariableCommunicationStepSize:boolean canInterpolateInputs:boolean \
maxOutputDerivativeOrder:unsignedInt canRunAsynchronuously:boolean > SourceFiles?
SourceFiles > File+
File name!
UnitDefinitions > Unit+
Unit name! > BaseUnit? DisplayUnit*
BaseUnit kg:int m:int s:int A:int K:int mol:int cd:int rad:int factor:double offset:double
DisplayUnit name! factor:double offset:double
TypeDefinitions > SimpleType+
SimpleType name! description > Real=Reals|Integer=Integers|Boolean=any|String=any|Enumeration=Items
Reals quantity unit displayUnit relativeQuantity:boolean min:double max:double nominal:double \
unbounded:boolean
Integers quantity min:int max:int
any > any
Items quantity > Item+
Item name! value!:int description
LogCategories > Category+
Category name! description
DefaultExperiment startTime:double stopTime:double tolerance:double stepSize:double
Annotations > Tool+
Tool name! > any
ModelVariables > ScalarVariable+
ScalarVariable name! valueReference!:unsignedInt description \
causality:parameter|calculatedParameter|input|output|local|independent \
variability:constant|fixed|tunable|discrete|continuous initial:exact|approx|calculated \
canHandleMultipleSetPerTimeInstant:boolean > Real|Integer|Boolean|String|Enumeration Annotations?
Real declaredType &Reals start:double derivative:unsignedInt reinit:boolean
Integer declaredType &Integers start:int
Boolean declaredType start:boolean
String declaredType start
Enumeration declaredType! &Integers start:int
ModelStructure > Outputs=Unknowns? Derivatives=Unknowns? InitialUnknowns=Unknowns?
Unknowns > Unknown+
Unknown index!:unsignedInt dependencies:[unsignedInt] \
dependenciesKind:[dependent|constant|fixed|tunable|discrete]
"""

_FMI3_HEAD = """
fmiModelDescription fmiVersion! modelName! instantiationToken! description author version \
copyright license generationTool generationDateAndTime:dateTime \
variableNamingConvention:flat|structured > \
ModelExchange? CoSimulation? ScheduledExecution? UnitDefinitions? TypeDefinitions? LogCategories? \
DefaultExperiment? ModelVariables ModelStructure Annotations?
Kind modelIdentifier! needsExecutionTool:boolean canBeInstantiatedOnlyOncePerProcess:boolean \
canGetAndSetFMUState:boolean canSerializeFMUState:boolean providesDirectionalDerivatives:boolean \
providesAdjointDerivatives:boolean providesPerElementDependencies:boolean *
ModelExchange &Kind needsCompletedIntegratorStep:boolean providesEvaluateDiscreteStates:boolean * \
> Annotations?
CoSimulation &Kind canHandleVariableCommunicationStepSize:boolean fixedInternalStepSize:double \
maxOutputDerivativeOrder:unsignedInt recommendedIntermediateInputSmoothness:int \
providesIntermediateUpdate:boolean mightReturnEarlyFromDoStep:boolean \
canReturnEarlyAfterIntermediateUpdate:boolean hasEventMode:boolean \
providesEvaluateDiscreteStates:boolean * > Annotations?
ScheduledExecution &Kind * > Annotations?
UnitDefinitions > Unit+
Unit name! > BaseUnit? DisplayUnit* Annotations?
BaseUnit kg:int m:int s:int A:int K:int mol:int cd:int rad:int factor:double offset:double
DisplayUnit name! factor:double offset:double inverse:boolean > Annotations?
LogCategories > Category+
Category name! description > Annotations?
DefaultExperiment startTime:double stopTime:double tolerance:double stepSize:double > Annotations?
ModelStructure > Output=Unknown* ContinuousStateDerivative=Unknown* ClockedState=Unknown* \
InitialUnknown=Unknown* EventIndicator=Unknown*
Unknown valueReference!:unsignedInt dependencies:[unsignedInt] \
dependenciesKind:[dependent|constant|fixed|tunable|discrete] > Annotations?
Annotations > any
Definition name! description
Reals quantity unit displayUnit relativeQuantity:boolean unbounded:boolean
Ticks canBeDeactivated:boolean priority:unsignedInt \
intervalVariability!:constant|fixed|tunable|changing|countdown|triggered intervalDecimal:float \
shiftDecimal:float supportsFraction:boolean resolution:unsignedLong intervalCounter:unsignedLong \
shiftCounter:unsignedLong
Variable name! valueReference!:unsignedInt description \
causality:parameter|calculatedParameter|input|output|local|independent|structuralParameter \
variability:constant|fixed|tunable|discrete|continuous \
canHandleMultipleSetPerTimeInstant:boolean clocks:[unsignedInt] declaredType
Array &Variable intermediateUpdate:boolean previous:unsignedInt initial:exact|approx|calculated
Dimension start:unsignedLong valueReference:unsignedInt
Alias name! description
FloatAlias name! description displayUnit
Text value
Bytes value:hexBinary
BooleanType &Definition > Annotations?
StringType &Definition > Annotations?
BinaryType &Definition mimeType maxSize:nonNegativeInteger > Annotations?
EnumerationType &Definition quantity min:long max:long > Annotations? Item+
Item name! value!:long description > Annotations?
ClockType &Definition &Ticks > Annotations?
Boolean &Array start:[boolean] > Annotations? Dimension* Alias*
String &Array > Annotations? Dimension* Start=Text* Alias*
Binary &Array mimeType maxSize:nonNegativeInteger > Annotations? Dimension* Start=Bytes* Alias*
Enumeration &Array declaredType! quantity min:long max:long start:[long] > Annotations? Dimension* \
Alias*
Clock &Variable &Ticks > Annotations? Alias*
"""

_NUMBERS3 = {
    "Float32": "float",
    "Float64": "double",
    "Int8": "byte",
    "UInt8": "unsignedByte",
    "Int16": "short",
    "UInt16": "unsignedShort",
    "Int32": "int",
    "UInt32": "unsignedInt",
    "Int64": "long",
    "UInt64": "unsignedLong",
}


def _fmi3() -> str:
    """The types of numbers are alike."""
    lines = [_FMI3_HEAD]
    for name, kind in _NUMBERS3.items():
        limits = f"min:{kind} max:{kind}"
        base, more, alias = "quantity", "", "Alias"
        if name.startswith("Float"):
            base, limits = "&Reals", f"{limits} nominal:{kind}"
            more, alias = "derivative:unsignedInt reinit:boolean", "Alias=FloatAlias"
        lines.append(f"{name}Type &Definition {base} {limits} > Annotations?\n")
        lines.append(f"{name} &Array {base} {limits} start:[{kind}] {more} > ")
        lines.append(f"Annotations? Dimension* {alias}*\n")
    others = ["Boolean", "String", "Binary", "Enumeration", "Clock"]
    names = [*_NUMBERS3, *others]
    lines.append("TypeDefinitions > " + "|".join(name + "Type" for name in names) + "+\n")
    lines.append("ModelVariables > " + "|".join(names) + "+\n")
    return "".join(lines)


class _Part(NamedTuple):
    types: dict[str, str]  # by tag
    required: bool
    repeated: bool


class _Type(NamedTuple):
    attributes: dict[str, tuple[str, bool]]  # type, and whether it is required
    parts: Optional[list[_Part]]  # None: anything
    others: bool  # attributes that are not listed are allowed


def _part(text: str) -> _Part:
    sign = text[-1] if text[-1] in "?*+" else ""
    pairs = [name.partition("=") for name in text.removesuffix(sign).split("|")]
    types = {tag: other or tag for tag, _, other in pairs}
    return _Part(types, sign in ("", "+"), sign in ("*", "+"))


@cache
def _types(version: int) -> dict[str, _Type]:
    result: dict[str, _Type] = {}
    for line in {1: _FMI1, 2: _FMI2}.get(version, _fmi3() if version == 3 else "").splitlines():
        head, _, content = line.partition(" >")
        words = head.split()
        if not words:
            continue
        attributes: dict[str, tuple[str, bool]] = {}
        for word in words[1:]:
            if word.startswith("&"):
                attributes.update(result[word[1:]].attributes)
            elif word != "*":
                name, _, kind = word.partition(":")
                attributes[name.removesuffix("!")] = (kind, name.endswith("!"))
        parts = None if content.strip() == "any" else [_part(text) for text in content.split()]
        result[words[0]] = _Type(attributes, parts, "*" in words or words[0] == "any")
    return result


#------------------------------------ values ------------------------------------

_RANGES = {"byte": 8, "short": 16, "int": 32, "long": 64}
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|-?INF|NaN")
_DATE = re.compile(r"-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")


def _is_valid(text: str, kind: str) -> bool:
    text = text.strip()
    if kind in ("double", "float"):
        return _FLOAT.fullmatch(text) is not None
    if kind == "boolean":
        return text in ("true", "false", "1", "0")
    if kind == "dateTime":
        return _DATE.fullmatch(text) is not None
    if kind == "hexBinary":
        return re.fullmatch(r"([0-9a-fA-F]{2})*", text) is not None
    if not re.fullmatch(r"[+-]?\d+", text):
        return False
    number = int(text)
    if kind == "nonNegativeInteger":
        return number >= 0
    bits = _RANGES[kind.removeprefix("unsigned").lower()]
    if kind.startswith("unsigned"):
        return 0 <= number < 1 << bits
    return -(1 << bits - 1) <= number < 1 << bits - 1


def _value_problem(text: str, kind: str) -> Optional[str]:
    if "|" in kind:
        words = kind.split("|")
        known = ", ".join(f"'{word}'" for word in words)
        if text in words:
            return None
        return f"[facet 'enumeration'] The value '{text}' is not an element of the set {{{known}}}."
    if kind and not _is_valid(text, kind):
        return f"'{text}' is not a valid value of the atomic type 'xs:{kind}'."
    return None


def _problems(text: str, kind: str) -> list[str]:
    """What is wrong with the value of an attribute: of a list, its first wrong word, and itself."""
    if not kind.startswith("["):
        problem = _value_problem(text, kind)
        return [] if problem is None else [problem]
    for word in text.split():
        problem = _value_problem(word, kind[1:-1])
        if problem is not None:
            return [problem, f"'{text}' is not a valid value of the local list type."]
    return []


#------------------------------------ elements ------------------------------------


def _expected(parts: list[_Part], at: int, seen: bool) -> list[str]:
    """The tags that may follow: of the present part, if it is repeated or still to come, and of the
    ones after it up to the first that is required."""
    tags: list[str] = []
    for i in range(at, len(parts)):
        part = parts[i]
        if i > at or not seen or part.repeated:
            tags += [tag for tag in part.types if tag not in tags]
        if part.required and (i > at or not seen):
            break
    return tags


def _text(tags: list[str], seen: bool) -> str:
    if not tags or (seen and len(tags) > 10):
        return ""
    words = "Expected is one of" if len(tags) > 1 else "Expected is"
    return f" {words} ( {', '.join(tags[:10])} )."


def _check_content(element: Element, parts: list[_Part], version: int) -> Iterator[tuple[int, str]]:
    if not parts:
        if element.children:
            yield (
                element.sourceline,
                f"Element '{element.tag}': Element content is not allowed, because the content "
                "type is empty.",
            )
        return
    at, seen = 0, False
    for child in element:
        i, counted = at, seen
        while i < len(parts):
            if child.tag in parts[i].types and (not counted or parts[i].repeated):
                break
            if parts[i].required and not counted:
                i = len(parts)
                break
            i, counted = i + 1, False
        if i == len(parts):
            text = f"Element '{child.tag}': This element is not expected."
            yield child.sourceline, text + _text(_expected(parts, at, seen), seen)
            return
        at, seen = i, True
        yield from _check(child, parts[i].types[child.tag], version)
    missing = [part for i, part in enumerate(parts[at:]) if part.required and not (i == 0 and seen)]
    if missing:
        text = f"Element '{element.tag}': Missing child element(s)."
        yield element.sourceline, text + _text(_expected(parts, at, seen), seen)


def _check(element: Element, name: str, version: int) -> Iterator[tuple[int, str]]:
    kind = _types(version)[name]
    tag, line = element.tag, element.sourceline
    for attribute, (_, required) in kind.attributes.items():
        if required and attribute not in element.attrib:
            yield line, f"Element '{tag}': The attribute '{attribute}' is required but missing."
    for attribute, value in element.attrib.items():
        if attribute.startswith(("xmlns", "xsi:", "xml:")):
            continue
        problems: list[str] = []
        if attribute in kind.attributes:
            problems = _problems(value, kind.attributes[attribute][0])
        elif not kind.others:
            problems = [f"The attribute '{attribute}' is not allowed."]
        for problem in problems:
            yield line, f"Element '{tag}', attribute '{attribute}': {problem}"
    if kind.parts is not None:
        yield from _check_content(element, kind.parts, version)


def check_schema(root: Element, version: int) -> list[str]:
    """Problems with elements and attributes."""
    found = _check(root, "fmiModelDescription", version)
    return [f"ERROR (line {line}, column 0): {text}" for line, text in found]
