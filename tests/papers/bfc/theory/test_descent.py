"""The direction of App. G: each sentence of its first facts, at a learner with random weights."""

from dataclasses import replace

import pytest
import torch

from beyondkernels.core import InputError, Stream
from beyondkernels.papers.bfc.problems import QuadraticTarget
from beyondkernels.papers.bfc.theory import QuadraticWeights, descent_step, free_frames, random_frames, target_in_basis
from refusals import refused

GRAPH = ((1,), (2, 0), (3, 1, 0))
PROBLEM = QuadraticTarget(dim=4, widths=(2, 2, 1), graph=GRAPH, alphas=(1.0, 0.3, 0.1), kappa=1.5)
TARGET = QuadraticWeights.of_problem(PROBLEM)
M = 7


def normal(name: str, *shape: int) -> torch.Tensor:
    return Stream(5).child(name).normal(*shape, dtype=torch.float64)


U = {j: torch.linalg.qr(normal(f"U{j}", 2, 2)).Q for j in (2, 3)}
R = {j: normal(f"R{j}", 3, 2) for j in (2, 3)} | {4: normal("R4", 1, 1)}
COLUMNS = {0: 4, 1: 4, 2: 3, 3: 3}
LEARNER = QuadraticWeights(
    GRAPH,
    PROBLEM.second_moments,
    {(layer, j): normal(f"W{layer}{j}", M, COLUMNS[j]) for layer, j in TARGET.wide},
    {(layer, j): normal(f"K{layer}{j}", len(W), COLUMNS[j]) for (layer, j), W in TARGET.wide.items()},
    R,
)
WANTED = target_in_basis(TARGET, LEARNER, U)
FRAMES = random_frames(LEARNER, WANTED, Stream(0))


def gram(weights, layer) -> torch.Tensor:
    return beside(weights.wide, layer).T @ beside(weights.wide, layer)


def opposite(frames):
    return {layer: -frame for layer, frame in frames.items()}


def beside(blocks, layer) -> torch.Tensor:
    """All blocks of a layer side by side."""
    return torch.cat([blocks[layer, j] for j in LEARNER.sources(layer)], 1)


@pytest.mark.parametrize("key", TARGET.wide)
def test_the_wanted_weights_see_the_learners_features_as_the_target_sees_its_own(key):
    layer, j = key
    if j < 2:
        assert torch.equal(WANTED[key], TARGET.wide[key])
        return
    z = normal("z", 2)
    torch.testing.assert_close(WANTED[key] @ (R[j] @ U[j] @ z) ** 2, TARGET.wide[layer, j] @ z**2)


@pytest.mark.parametrize("layer", [2, 3, 4])
def test_the_products_of_the_wide_weights_move_towards_the_wanted_ones(layer):
    """Fact G.1: exactly so in the mean over both signs, and not for one of them."""
    frames = random_frames(LEARNER, WANTED, Stream(0))
    grams = [gram(descent_step(LEARNER, WANTED, turned, 0.3, 0.01), layer) for turned in (frames, opposite(frames))]
    V = beside(WANTED, layer)
    expected = 0.7 * gram(LEARNER, layer) + 0.3 * V.T @ V
    torch.testing.assert_close((grams[0] + grams[1]) / 2, expected)
    assert (grams[0] - expected).norm() > 0.1
    k = frames[layer].shape[1]
    torch.testing.assert_close(frames[layer].T @ frames[layer], torch.eye(k).double())


def test_free_directions_make_no_error_where_there_are_any():
    extra = {key: torch.cat([W, torch.zeros(6, W.shape[1]).double()]) for key, W in LEARNER.wide.items()}
    turn = torch.linalg.qr(normal("turn", M + 6, M + 6)).Q
    wide = replace(LEARNER, wide={key: turn @ W for key, W in extra.items()})
    step = descent_step(wide, WANTED, free_frames(wide, WANTED), 0.3, 0.01)
    for layer in (2, 3, 4):
        V = beside(WANTED, layer)
        torch.testing.assert_close(gram(step, layer), 0.7 * gram(wide, layer) + 0.3 * V.T @ V)
    narrow = free_frames(LEARNER, WANTED)  # no more rows than columns: the least that W has
    least = torch.linalg.svdvals(beside(LEARNER.wide, 3))[-1]
    assert float((narrow[3].T @ beside(LEARNER.wide, 3)).norm(dim=1).min()) == pytest.approx(float(least))


@pytest.mark.parametrize("layer", [2, 3, 4])
def test_the_small_weights_move_as_in_lemma_g4(layer):
    """Derivatives in η₁ and η₂ of the products in the proofs of Lemmas G.4 and G.6."""
    others = [j for j in LEARNER.sources(layer) if j != layer - 1]

    def products(one, two):
        small = descent_step(LEARNER, WANTED, FRAMES, one, two).small
        K = small[layer, layer - 1]
        rest = torch.cat([small[layer, j] for j in others], 1) if others else K[:, :0]
        return K.T @ K, K.T @ rest, rest.T @ rest

    K, V = LEARNER.small[layer, layer - 1], WANTED[layer, layer - 1]
    inverse = torch.linalg.inv(K @ K.T)
    Q = inverse @ K @ V.T @ V @ K.T @ inverse / 2
    rest = torch.cat([LEARNER.small[layer, j] for j in others], 1) if others else K[:, :0]
    E = K.T @ rest - (V.T @ torch.cat([WANTED[layer, j] for j in others], 1) if others else K.T[:, :0])
    tiny = 1e-7
    still, first, second = products(1e-30, 0.0), products(tiny, 0.0), products(1e-30, tiny)
    in_first = [(after - before) / tiny for before, after in zip(still, first, strict=True)]
    in_second = [(after - before) / tiny for before, after in zip(still, second, strict=True)]
    expected = [-K.T @ K + 2 * K.T @ Q @ K, torch.zeros_like(E), rest.T @ rest - 2 * rest.T @ Q @ rest]
    for found, wanted in zip(in_first, expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(in_second[1], -K.T @ K @ E - E @ rest.T @ rest, rtol=1e-4, atol=1e-4)


def test_the_claims_on_q_and_e():
    """Claim G.2's left side is a sum of squares; Claim G.3's 2Q is the identity where KᵀK = VᵀV."""
    same = replace(LEARNER, small=WANTED)
    step = descent_step(same, WANTED, FRAMES, 0.1, 0.5)
    for key, V in WANTED.items():
        torch.testing.assert_close(step.small[key], V)


def test_layers_without_small_weights_do_not_move_them():
    part = replace(LEARNER, small={key: K for key, K in LEARNER.small.items() if key[0] < 4})
    step = descent_step(part, WANTED, FRAMES, 0.1, 0.01)
    assert step.small.keys() == part.small.keys()
    assert not torch.equal(step.wide[4, 3], part.wide[4, 3])


def test_more_features_that_are_zero_are_the_same_target():
    x = normal("x", 5, 4)
    wider = TARGET.widened({2: 3, 4: 2})
    assert {key: tuple(W.shape) for key, W in wider.wide.items()} == {
        (2, 1): (3, 4),
        (3, 2): (2, 3),
        (3, 0): (2, 4),
        (4, 3): (2, 2),
        (4, 1): (2, 4),
        (4, 0): (2, 4),
    }
    for layer in (2, 3, 4):
        values = [weights.polynomials()[1][layer](x) for weights in (TARGET, wider)]
        torch.testing.assert_close(*values)
    refused(r"^widths must be at least those of the weights, 2 in layer 2, got 1$", TARGET.widened, {2: 1})
    refused(r"^only weights without R can be widened", LEARNER.widened, {2: 3})


def test_sentences():
    with pytest.raises(InputError, match=r"^learner must have 2 features in layer 2 as the target has, got another"):
        target_in_basis(TARGET, replace(LEARNER, spread=R | {2: normal("R", 6, 3)}), U)
    thin = replace(LEARNER, wide={key: W[:1] for key, W in LEARNER.wide.items()})
    for frames in (lambda: free_frames(thin, WANTED), lambda: random_frames(thin, WANTED, Stream(0))):
        refused(r"^W must have at least the 2 rows of the target's layer, got 1$", frames)
    for step, words in ((2.0, r"at most 1, got 2\.0"), (0.0, r"positive, got 0\.0")):
        refused(rf"^wide_step must be {words}$", descent_step, LEARNER, WANTED, FRAMES, step, 0.1)
