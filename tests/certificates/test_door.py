"""One door: a problem that a lower bound is known for hands out its certificate."""

from dataclasses import replace
from typing import Any

import pytest

import beyondkernels as bk
from refusals import refused

HARD = bk.resnet.HardInstance(dim=20, outputs=3, alpha=0.3)
PARITY = bk.features.DictionaryParity(dim=100, patterns=80, relevant=5)
SPARSE = bk.bfc.sparse_target(dim=20, depth=3, alphas=(1.0, 0.05))
EVEN: dict[Any, Any] = {theorem: bk.bfc.even_target(6, 3, (1.0, 0.1), theorem) for theorem in ("I.6", "I.7")}


def test_every_certificate_there_is():
    found: list[tuple[Any, Any]] = [
        (bk.certify(None, HARD, n=50), bk.certificates.UniversalCertificate(50, 20, 3, 0.3, 20)),
        (
            bk.certify(bk.kernels.Arcsin(), HARD, n=5, ridge=0.01, seed=3),
            bk.resnet.certify_correlation(bk.kernels.Arcsin(), HARD, n=5, ridge=0.01, seed=3),
        ),
        (bk.certify(None, PARITY, features=200, norm=3.0), bk.features.FixedFeatureCertificate(80, 5, 0.5, 200, 3.0)),
        (bk.certify(None, PARITY, norm=3.0, points=40), bk.features.KernelBallCertificate(80, 5, 0.5, 3.0, points=40)),
        (
            bk.certify(bk.kernels.Gaussian(1.0), PARITY, norm=3.0),
            bk.features.KernelBallCertificate(80, 5, 0.5, 3.0, kernel=bk.kernels.Gaussian(1.0)),
        ),
        (
            bk.certify(None, PARITY.without_structure(), queries=200, tolerance=0.01),
            bk.features.StatisticalQueryCertificate(80, 5, 200, 0.01),
        ),
        (bk.certify(None, SPARSE, n=30), bk.bfc.SparseTargetCertificate(30, 20, 3, 0.05)),
        (bk.certify(None, SPARSE, features=30), bk.bfc.SparseTargetCertificate(30, 20, 3, 0.05, "features")),
        *(
            (bk.certify(None, target, neurons=2), bk.bfc.NeuronCertificate(2, 6, 3, 0.1, theorem))
            for theorem, target in EVEN.items()
        ),
    ]
    for certificate, expected in found:
        assert certificate == expected
    assert bk.certify(bk.kernels.Gaussian(1.0), HARD, n=20).problem == HARD  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("problem", "options", "sentence"),
    [
        (bk.resnet.CompositeParity(), {"n": 3}, "problem must be one that a lower bound is known for"),
        (HARD, {"n": 3, "ridge": 0.1}, "what must be a kernel where a ridge is given"),
        (PARITY, {}, "norm must be given"),
        (PARITY, {"queries": 3, "tolerance": 0.1}, "without input structure"),
        (PARITY, {"queries": 3, "tolerance": 0.1, "norm": 1.0}, "queries cannot be combined"),
        (PARITY.without_structure(), {"norm": 1.0}, "problem must have the patterns of a StructuredMixture"),
        (replace(PARITY, labels=bk.features.Threshold()), {"norm": 1.0}, "problem must have parity labels"),
        (SPARSE, {}, "one of n, features and neurons must be given, got none"),
        (SPARSE, {"n": 3, "neurons": 3}, "one of n, features and neurons must be given, got n, neurons"),
        (SPARSE, {"neurons": 3}, "a target that bk.bfc.even_target makes"),
        (EVEN["I.6"], {"n": 3}, "a target that bk.bfc.sparse_target makes"),
    ],
)
def test_what_no_theorem_speaks_of_is_refused(problem, options, sentence):
    refused(sentence, bk.certify, None, problem, **options)
