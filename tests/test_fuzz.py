"""Whatever is given to a constructor, a setting or ``--set``: a value or one sentence comes out, never a traceback."""

import dataclasses
import json
import os
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from beyondkernels.activations import Sine
from beyondkernels.algorithms import GradientDescent, Hinge
from beyondkernels.algorithms.optimisers import Rate
from beyondkernels.core import InputError, Stream, build, canonical_json, digest
from beyondkernels.data import Cube, DrawnMap, Sphere, given
from beyondkernels.engine import TrainedNetwork
from beyondkernels.kernels.finite.at import TangentAt
from beyondkernels.lab import CATALOGUE, ask
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.bfc.theory import practical
from beyondkernels.papers.overparam.problems import UnitInputs, windows
from fuzz import BAD, WORDS, complaint, examples

_DATA = given((np.arange(20.0).reshape(10, 2), [0, 1] * 5))
_NETWORK = TwoLayer(4)
_MAP = DrawnMap(4, 4, 2, Sine())
_SETTINGS = practical((1.0, 0.1), (1.0, 0.1), error=0.1)
GIVEN: dict[str, dict[str, Any]] = {
    "ConvolutionalTruth": {"source": UnitInputs(3), "rows": 5, "patches": windows(5, 2), "terms": 2},
    "FromCopy": {"architecture": "a", "name": "line", "module": torch.nn.Linear(2, 1)},
    "FromEstimator": {"settings": "a", "name": "ridge", "estimator": Ridge()},
    "GivenData": {"content": _DATA.content},
    "KernelAt": {"at": TangentAt(_NETWORK, *_NETWORK.init(2, 1, Stream(0))), "in_shape": (2,)},
    "GivenWeights": {"a": ((1.0,),), "w1": ((0.6, 0.8),), "w2": ((0.0, 1.0),)},
    "Padded": {"dim": 5, "source": Cube(3)},
    "SignalInputs": {"dim": 8},
    "ThreeLayerTruth": {"source": UnitInputs(3)},
    "TwoLayerTruth": {"source": UnitInputs(3)},
    "SmoothedCoupling": {"smoothing": (0.1, 0.1)},
    "ClassWeighted": {"loss": Hinge(), "weights": (1.0, 2.0)},
    "InSpan": {"learner": TrainedNetwork(TwoLayer(4), GradientDescent(4, 0.1))},
    "ListedPatterns": {"vectors": ((0, 1), (1, 1))},
    "NormedNetwork": {"snapshot_at": (0,), "snapshot_names": ("A.weight",)},
    "DrawnGeneralMap": {"function": Sine()},
    "Monomial": {"dim": 8, "degree": 3},
    "Descent": {"steps": 4, "optimiser": Rate(0.1)},
    "DenseNetSGD": {"settings": _SETTINGS, "rule": Rate(0.1), "steps": (4, 4, 4, 4)},
    "DenseNetSettings": {field.name: getattr(_SETTINGS, field.name) for field in dataclasses.fields(_SETTINGS)[:7]},
    "DistilledDenseNet": {"graph": ((1,), (2, 0)), "width": 3, "alphas": (1.0, 0.1)},
    "Joining": {"rule": Rate(0.1), "steps": (4, 4)},
    "QuadraticDenseNet": {"graph": ((1,), (2, 0)), "widths": (3, 2), "alphas": (1.0, 0.1)},
    "SmoothComposite": {"source": Sphere(4), "base": _MAP, "composite": _MAP, "concept_class": None},
}
"""Fields of components that are not found by trying."""

THOROUGH = "BK_FUZZ" in os.environ
"""Set ``BK_FUZZ`` to try everything; otherwise a part is tried, another one for each field."""


def chosen(values: list[str], share: int, offset: int) -> list[str]:
    return values if THOROUGH else values[offset % share :: share]


def test_constructors():
    wrong, calls, fields = [], 0, 0
    for cls, base in examples(GIVEN).items():
        for field in (field for field in dataclasses.fields(cls) if field.init):  # pyright: ignore[reportArgumentType]
            fields += 1
            for word in chosen(list(BAD), 3, fields):
                calls += 1
                change = {**base, field.name: BAD[word]}
                said = complaint(lambda cls=cls, change=change: digest(cls(**change)))
                if said is not None:
                    wrong.append(f"{cls.__name__}({field.name}={word}): {said}")
    assert calls > 4000
    assert not wrong, f"{len(wrong)} of {calls}:\n" + "\n".join(wrong)


def test_every_component_comes_back_from_its_description():
    back = 0
    for one in (cls(**fields) for cls, fields in examples(GIVEN).items()):
        try:
            again = build(json.loads(canonical_json(one)))
        except InputError as error:
            assert "process" in str(error)  # a module, an estimator or data of this process alone
            continue
        assert again == one
        assert digest(again) == digest(one)
        back += 1
    assert back > 100


@pytest.mark.parametrize("name", CATALOGUE)
def test_settings(name):
    wrong, calls, fields = [], 0, dataclasses.fields(ask(name, "smoke").settings)
    for number, field in enumerate(fields):
        given = [(word, word) for word in chosen(WORDS, 12, number)]
        given += [(word, BAD[word]) for word in chosen(list(BAD), 24, number)]
        for word, value in given:
            calls += 1
            changes = {field.name: value}
            said = complaint(lambda changes=changes: ask(name, "smoke", changes=changes).first_round)
            if said is not None:
                wrong.append(f"{field.name}={word[:20]}: {said}")
    assert calls >= 2 * len(fields) > 0
    assert not wrong, f"{len(wrong)} of {calls}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("word", BAD)
def test_seeds(word):
    assert complaint(lambda: ask("features/table1", "smoke", seeds=BAD[word])) is None
