"""Concept 1 and Concept 2: what they refuse, with numbers that help; Lemma A.2 on whole targets; bounds."""

import math

import pytest
import torch

from beyondkernels.activations import Polynomial, Sine, identity, quadratic
from beyondkernels.core import InputError, Stream
from beyondkernels.data import CircleMap, Cube, DrawnMap, Gaussian, GivenMap, Sphere
from beyondkernels.data.maps import nested
from beyondkernels.papers.resnet.problems import (
    CompositeParity,
    DrawnGeneralMap,
    GeneralForm,
    HardInstance,
    SmoothComposite,
)

F, G = CircleMap(6, 4, 2.0), DrawnMap(4, 4, 3, Polynomial((0.0, 1.0, 2.0)), 1)


def refused(sentence: str, **changes) -> None:
    fields = {"source": Sphere(6), "base": F, "composite": G, "alpha": 0.2} | changes
    with pytest.raises(InputError, match=sentence):
        SmoothComposite(**fields)


def test_constant_length_other_than_one():
    """The sentence says the length; doing what it says is accepted, and divides the labels by it."""
    refused(
        r"‖F\(x\)‖ = 1 for every x in Concept 1, got lengths from 3 to 3 at 4096 inputs; with c = 3, "
        r"base\.scaled\(1 / c\) and composite\.scaled\(1 / c, inside=c\)",
        base=F.scaled(3.0),
    )
    c = 3.0
    big = SmoothComposite(Sphere(6), F.scaled(c), G, 0.2, concept_class=None)
    tidy = SmoothComposite(Sphere(6), F.scaled(c).scaled(1 / c), G.scaled(1 / c, inside=c), 0.2)
    x = Sphere(6).draw(50, Stream(0))
    torch.testing.assert_close(tidy.target(x), big.target(x) / c)


def test_what_concept_1_refuses():
    refused("lengths from .* which no factor makes equal; Concept 2", base=DrawnMap(6, 4, 2, Sine()))
    refused(r"directions of length 1/√2 .* got one of length 1; absorbed\(composite\)", composite=identity_map(1.0))
    large = GivenMap(identity_map(math.sqrt(0.5)).weights, tuple((2.0,) for _ in range(4)), identity)
    refused(r"composite must have a\* in \[−1, 1\], got 2", composite=large)
    refused(r"‖x‖ = 1 for Concept 1, got lengths that vary", source=Gaussian(6))
    refused(r"‖x‖ = 1 for Concept 1, got 2\.449", source=Cube(6, side=1.0))
    refused("base must take vectors of dimension 5", source=Sphere(5))
    refused("composite must take and give vectors of dimension 4", composite=DrawnMap(3, 4, 1, identity))
    refused("base must be a two-layer map for Concept 1", base=DrawnGeneralMap(6, 4, 1, identity))


def test_what_concept_2_refuses():
    refused(r"map of general complexity for Concept 2, got CircleMap; GeneralForm\(base\)", concept_class=2)
    refused("composite must be a map of general complexity", base=GeneralForm(F), concept_class=2)


def test_a_whole_target_in_concept_2():
    """Lemma A.2: the same H at every input, 2p terms; the noise stays; not for what is not Concept 1."""
    problem = SmoothComposite(Sphere(6), F, G, 0.2, optimal_risk=0.1)
    form = problem.in_concept2()
    x = Sphere(6).draw(100, Stream(2))
    torch.testing.assert_close(form.target(x), problem.target(x), rtol=0, atol=1e-12)
    assert (form.base_terms, form.composite_terms) == (2 * problem.base_terms, 2 * problem.composite_terms) == (2, 6)
    assert (form.concept_class, form.optimal_risk, form.alpha) == (2, 0.1, 0.2)
    with pytest.raises(InputError, match=r"concept_class must be 1 for Lemma A\.2, got 2"):
        form.in_concept2()


def test_the_papers_targets_in_concept_2():
    for problem in (CompositeParity(dim=10, outputs=5), HardInstance(dim=8, outputs=3, alpha=0.2)):
        concept = problem.concept()
        form = concept.in_concept2()
        x = concept.inputs.draw(64, Stream(0))
        torch.testing.assert_close(form.target(x), concept.target(x), rtol=0, atol=1e-9)
        assert form.base_bound == pytest.approx(1.0)


def test_bounds_by_enumeration():
    base = DrawnMap(4, 2, 2, quadratic)
    composite = DrawnMap(2, 2, 2, Sine(), 1)
    problem = SmoothComposite(Cube(4), base, composite, 0.1, concept_class=None)
    F_lengths, G_lengths = [], []
    for s in range(16):
        x = torch.tensor([[0.5 if s >> j & 1 else -0.5 for j in range(4)]], dtype=torch.float64)
        F_lengths.append(math.hypot(*base(x)[0].tolist()))
        G_lengths.append(math.hypot(*composite(base(x))[0].tolist()))
    assert problem.base_bound == pytest.approx(max(F_lengths))
    assert problem.composite_bound == pytest.approx(max(G_lengths))
    assert SmoothComposite(Gaussian(4), base, composite, 0.1, concept_class=None).base_bound is None


def identity_map(length: float) -> GivenMap:
    unit = torch.eye(4, dtype=torch.float64)[:, None, :] * length
    return GivenMap(nested(unit), ((1.0,),) * 4, identity)
