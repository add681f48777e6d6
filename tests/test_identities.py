"""Components that moved keep the name under which runs of them are stored."""

from __future__ import annotations

import pytest

from beyondkernels.core.components import class_path
from beyondkernels.measure import Alignment, Coupling, Directions, LearntSignals, Regret
from beyondkernels.problems import (
    Counts,
    DictionaryProblem,
    Incoherent,
    IndependentPatterns,
    Interval,
    Orthonormal,
    Parity,
    StructuredMixture,
    Threshold,
    UniformPatterns,
)
from beyondkernels.problems.resnet import AllPoints
from beyondkernels.theory import ConceptSizes, ProcessSettings, StepSettings
from beyondkernels.theory.resnet import ClosedForm, Theorem1Constants, Theorem1Settings

MOVED = {
    "beyondkernels.experiments.resnet.fig4.construction": (ClosedForm,),
    "beyondkernels.experiments.resnet.fig4.specs": (AllPoints,),
    "beyondkernels.measure.alignment": (Alignment,),
    "beyondkernels.measure.coupling": (Coupling,),
    "beyondkernels.measure.directions": (Directions,),
    "beyondkernels.measure.learnt": (LearntSignals,),
    "beyondkernels.measure.regret": (Regret,),
    "beyondkernels.problems.dictionaries": (Incoherent, Orthonormal),
    "beyondkernels.problems.dictionary": (DictionaryProblem,),
    "beyondkernels.problems.hidden.independent": (IndependentPatterns,),
    "beyondkernels.problems.hidden.structured": (StructuredMixture,),
    "beyondkernels.problems.hidden.uniform": (UniformPatterns,),
    "beyondkernels.problems.labels": (Counts, Interval, Parity, Threshold),
    "beyondkernels.theory.concept_sizes": (ConceptSizes,),
    "beyondkernels.theory.process": (ProcessSettings, StepSettings),
    "beyondkernels.theory.theorem1": (Theorem1Constants, Theorem1Settings),
}


@pytest.mark.parametrize(("module", "classes"), MOVED.items(), ids=list(MOVED))
def test_moved_components_keep_their_old_name(module, classes):
    for cls in classes:
        assert cls.__module__ != module
        assert class_path(cls) == f"{module}:{cls.__name__}"
