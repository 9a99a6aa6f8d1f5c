# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The objects of a modelDescription.xml, with the attribute names of FMPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import IO, Any, Callable, Literal, Optional, Union

Source = Union[str, "PathLike[str]", IO[bytes]]

VariableType = Literal[
    "Real",
    "Float32",
    "Float64",
    "Integer",
    "Int8",
    "UInt8",
    "Int16",
    "UInt16",
    "Int32",
    "UInt32",
    "Int64",
    "UInt64",
    "Enumeration",
    "Boolean",
    "String",
    "Binary",
    "Clock",
]
Causality = Literal[
    "parameter",
    "calculatedParameter",
    "input",
    "output",
    "local",
    "independent",
    "structuralParameter",
]
Variability = Literal["constant", "fixed", "tunable", "discrete", "continuous"]
Initial = Optional[Literal["exact", "approx", "calculated"]]


def _quiet(default: Any = None) -> Any:
    """A field that repr() leaves out."""
    return field(default=default, repr=False)


def _list(visible: bool = False) -> Any:
    return field(default_factory=list, repr=visible)


@dataclass(eq=False)
class Category:
    """A category of log messages."""

    name: Optional[str] = None
    description: Optional[str] = None


@dataclass(eq=False)
class DefaultExperiment:
    """Times and tolerance that the model proposes, as texts."""

    startTime: Optional[str] = None
    stopTime: Optional[str] = None
    tolerance: Optional[str] = None
    stepSize: Optional[str] = None


@dataclass(eq=False)
class InterfaceType:
    """What all kinds of FMUs declare."""

    modelIdentifier: Optional[str] = None
    needsExecutionTool: bool = _quiet(False)
    canBeInstantiatedOnlyOncePerProcess: bool = _quiet(False)
    canGetAndSetFMUstate: bool = _quiet(False)
    canSerializeFMUstate: bool = _quiet(False)
    providesAdjointDerivatives: bool = _quiet(False)
    providesPerElementDependencies: bool = _quiet(False)
    canNotUseMemoryManagementFunctions: bool = _quiet(False)
    providesDirectionalDerivative: bool = _quiet(False)


@dataclass(eq=False)
class ModelExchange(InterfaceType):
    """Model exchange."""

    needsCompletedIntegratorStep: bool = _quiet(False)
    providesEvaluateDiscreteStates: bool = _quiet(False)
    completedIntegratorStepNotNeeded: bool = _quiet(False)


@dataclass(eq=False)
class CoSimulation(InterfaceType):
    """Co-simulation."""

    canHandleVariableCommunicationStepSize: bool = _quiet(False)
    fixedInternalStepSize: Union[str, float, None] = _quiet()
    maxOutputDerivativeOrder: int = _quiet(0)
    recommendedIntermediateInputSmoothness: int = _quiet(0)
    canInterpolateInputs: bool = _quiet(False)
    providesIntermediateUpdate: bool = _quiet(False)
    mightReturnEarlyFromDoStep: bool = _quiet(False)
    canReturnEarlyAfterIntermediateUpdate: bool = _quiet(False)
    hasEventMode: bool = _quiet(False)
    providesEvaluateDiscreteStates: bool = _quiet(False)
    canRunAsynchronuously: bool = _quiet(False)


@dataclass(eq=False)
class ScheduledExecution(InterfaceType):
    """Scheduled execution."""


@dataclass(eq=False)
class PreProcessorDefinition:
    """A macro of the build description."""

    name: Optional[str] = None
    value: Optional[str] = None
    optional: bool = False
    description: Optional[str] = None


@dataclass(eq=False)
class SourceFileSet:
    """Source files that are compiled in one way."""

    name: Optional[str] = None
    language: Optional[str] = None
    compiler: Optional[str] = None
    compilerOptions: Optional[str] = None
    preprocessorDefinitions: list[PreProcessorDefinition] = _list(True)
    sourceFiles: list[str] = _list(True)
    includeDirectories: list[str] = _list(True)


@dataclass(eq=False)
class BuildConfiguration:
    """How the sources of an FMU are compiled."""

    modelIdentifier: Optional[str] = None
    sourceFileSets: list[SourceFileSet] = _list(True)


@dataclass(eq=False)
class Dimension:
    """A dimension of an array: a number, or the variable that has it."""

    start: Optional[int]
    valueReference: Optional[int]
    variable: Optional[ModelVariable] = None


@dataclass(eq=False)
class Item:
    """An item of an enumeration."""

    name: Optional[str] = None
    value: Optional[str] = None
    description: Optional[str] = _quiet()


@dataclass(eq=False)
class SimpleType:
    """A declared type."""

    name: Optional[str] = None
    description: Optional[str] = None
    type: Optional[str] = None
    quantity: Optional[str] = _quiet()
    unit: Optional[str] = None
    displayUnit: Optional[str] = _quiet()
    relativeQuantity: bool = _quiet(False)
    min: Optional[str] = _quiet()
    max: Optional[str] = _quiet()
    nominal: Optional[str] = _quiet()
    unbounded: Optional[str] = _quiet()
    items: list[Item] = _list()


@dataclass(eq=False)
class DisplayUnit:
    """A unit for display: value = factor * value in the unit + offset."""

    name: Optional[str] = None
    factor: float = _quiet(1.0)
    offset: float = _quiet(0.0)


@dataclass(eq=False)
class BaseUnit:
    """A unit in terms of the SI."""

    kg: int = 0
    m: int = 0
    s: int = 0
    A: int = 0
    K: int = 0
    mol: int = 0
    cd: int = 0
    rad: int = 0
    factor: float = 1.0
    offset: float = 0.0


@dataclass(eq=False)
class Unit:
    """A unit."""

    name: Optional[str] = None
    baseUnit: Optional[BaseUnit] = _quiet()
    displayUnits: list[DisplayUnit] = _list()


@dataclass(eq=False)
class VariableAlias:
    """Another name of a variable (FMI 3.0)."""

    name: str
    description: Optional[str] = _quiet()
    displayUnit: Optional[str] = _quiet()


@dataclass(eq=False)
class ModelVariable:
    """A variable. Numbers of its declaration are texts, as in the file."""

    name: str = ""
    valueReference: int = _quiet()
    type: Optional[str] = None
    shape: Optional[tuple[int, ...]] = _quiet()
    _python_type: Optional[Callable[[Any], Any]] = _quiet()
    description: Optional[str] = _quiet()
    causality: Optional[str] = _quiet()
    variability: Optional[str] = _quiet()
    initial: Optional[str] = _quiet()
    canHandleMultipleSetPerTimeInstant: bool = _quiet(True)
    intermediateUpdate: bool = _quiet(False)
    previous: Optional[int] = _quiet()
    clocks: Any = _list()
    declaredType: Optional[SimpleType] = _quiet()
    dimensions: list[Dimension] = _list()
    dimensionValueReferences: list[int] = _list()
    quantity: Optional[str] = _quiet()
    unit: Optional[str] = _quiet()
    displayUnit: Optional[str] = _quiet()
    relativeQuantity: Optional[bool] = _quiet()
    min: Optional[str] = _quiet()
    max: Optional[str] = _quiet()
    nominal: Optional[str] = _quiet()
    unbounded: bool = _quiet(False)
    start: Optional[str] = _quiet()
    #: the variable whose derivative this one is
    derivative: Any = _quiet()
    reinit: bool = _quiet(False)
    #: in the modelDescription.xml
    sourceline: Optional[int] = _quiet()
    canBeDeactivated: bool = _quiet(False)
    priority: Optional[int] = _quiet()
    intervalVariability: Optional[str] = _quiet()
    intervalDecimal: Optional[float] = _quiet()
    shiftDecimal: Optional[float] = _quiet()
    supportsFraction: bool = _quiet(False)
    resolution: Optional[int] = _quiet()
    intervalCounter: Optional[int] = _quiet()
    shiftCounter: int = _quiet(0)
    aliases: list[VariableAlias] = _list()
    #: of another name (FMI 3.0): the variable
    alias: Optional[ModelVariable] = _quiet()


ScalarVariable = ModelVariable


@dataclass(eq=False)
class Unknown:
    """An entry of the model structure."""

    index: int = _quiet(0)
    variable: ModelVariable = None  # type: ignore[assignment]
    dependencies: Optional[list[ModelVariable]] = _quiet()
    dependenciesKind: Optional[list[str]] = _quiet()
    sourceline: Optional[int] = _quiet(0)


@dataclass(eq=False)
class ModelDescription:
    """The content of a modelDescription.xml."""

    fmiVersion: str = None  # type: ignore[assignment]
    modelName: Optional[str] = None
    instantiationToken: Optional[str] = _quiet()
    description: Optional[str] = _quiet()
    author: Optional[str] = _quiet()
    version: Optional[str] = _quiet()
    copyright: Optional[str] = _quiet()
    license: Optional[str] = _quiet()
    generationTool: Optional[str] = _quiet()
    generationDateAndTime: Optional[str] = _quiet()
    variableNamingConvention: str = _quiet("flat")
    numberOfContinuousStates: int = _quiet(0)
    numberOfEventIndicators: int = _quiet(0)
    logCategories: list[Category] = _list()
    defaultExperiment: Optional[DefaultExperiment] = _quiet()
    coSimulation: Optional[CoSimulation] = None
    modelExchange: Optional[ModelExchange] = None
    scheduledExecution: Optional[ScheduledExecution] = None
    buildConfigurations: list[BuildConfiguration] = _list()
    unitDefinitions: list[Unit] = _list()
    typeDefinitions: list[SimpleType] = _list()
    modelVariables: list[ModelVariable] = _list()
    outputs: list[Unknown] = _list()
    derivatives: list[Unknown] = _list()
    clockedStates: list[Unknown] = _list()
    eventIndicators: list[Unknown] = _list()
    initialUnknowns: list[Unknown] = _list()

    @property
    def fmiMajorVersion(self) -> int:
        """1, 2 or 3."""
        return int(self.fmiVersion.split(".")[0])

    @property
    def modelIdentifier(self) -> str:
        """The model identifier, where all kinds of the FMU have the same."""
        kinds = (self.modelExchange, self.coSimulation, self.scheduledExecution)
        names = {kind.modelIdentifier for kind in kinds if kind is not None}
        if not names:
            raise Exception("Model description does not define any model identifiers.")
        if len(names) > 1:
            raise Exception("Model description defines different model identifiers.")
        return str(names.pop())

    @property
    def guid(self) -> Optional[str]:
        """The identifier of the description that the binary checks."""
        return self.instantiationToken

    @guid.setter
    def guid(self, value: Optional[str]) -> None:
        self.instantiationToken = value


class ValidationError(Exception):
    """A modelDescription.xml has problems, which are in the list ``problems``."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n- ".join(["Failed to validate modelDescription.xml:", *self.problems])


def read_model_description(
    filename: Source,
    validate: bool = True,
    validate_variable_names: bool = False,
    validate_model_structure: bool = False,
) -> ModelDescription:
    """Read the model description of an FMU, which is not extracted.

    filename: an FMU, a folder with an extracted one, an XML file, or an open file.
    validate: raise a ValidationError that lists the problems, if there are any.
    validate_variable_names: also check names against the naming convention.
    validate_model_structure: also check outputs, derivatives and initial unknowns.
    """
    from ._reader import read
    from .validation import validate_model_description

    description = read(filename, validate)
    if validate:
        problems = validate_model_description(
            description,
            validate_variable_names=validate_variable_names,
            validate_model_structure=validate_model_structure,
        )
        if problems:
            raise ValidationError(problems)
    return description


def read_build_description(filename: Source, validate: bool = True) -> list[BuildConfiguration]:
    """Read the buildDescription.xml of an FMU of FMI 3.0; an FMU without it has none."""
    from ._reader import read_build

    return read_build(filename)
