"""The way down that the proof of Theorems G.10 and G.11 builds from the target's weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch

from beyondkernels.core import InputError, Stream, require, require_positive
from beyondkernels.papers.bfc.theory.symmetric import star
from beyondkernels.papers.bfc.theory.weights import Blocks, QuadraticWeights


def target_in_basis(target: QuadraticWeights, learner: QuadraticWeights, turned: Mapping[int, torch.Tensor]) -> Blocks:
    r"""V*: the target's weights in the basis of the learner's features.

    .. math:: V^\star_{\ell,j}\,\sigma(R_j U_j z) = W^\star_{\ell,j}\,\sigma(z), \qquad
              V^\star_{\ell,j} = W^\star_{\ell,j} (I * I)(R_j U_j * R_j U_j)^{-1} \quad (j \ge 2), \qquad
              V^\star_{\ell,j} = W^\star_{\ell,j} \quad (j < 2)

    where :math:`U_j S^\star_j \approx S_j`. The paper prints j > 2 and j ∈ [2] for the two cases; layers 0 and 1 are
    those without R.

    Arguments:
        target: the target's weights.
        learner: those of a distilled learner, with as many features in each layer as the target has.
        turned: U by layer, as :func:`turns` gives them.

    Reference: Allen-Zhu & Li (bfc), App. G, eq. (G.1).
    """
    found = {}
    for layer, j in learner.wide:
        W = target.wide[layer, j]
        if j >= 2:
            R, k = learner.spread.get(j), W.shape[1]
            if R is None or R.shape != (k * (k + 1) // 2, k):
                raise InputError(f"learner must have {k} features in layer {j} as the target has, got another number")
            W = torch.linalg.solve(star(R @ turned[j]).T, (W @ star(torch.eye(k, dtype=torch.float64))).T).T
        found[layer, j] = W
    return found


def random_frames(learner: QuadraticWeights, wanted: Blocks, stream: Stream) -> dict[int, torch.Tensor]:
    r"""For each layer a matrix with orthonormal columns, (m, k): D of App. G, with random signs.

    The text does not define :math:`D_\ell V^{\star,w}_\ell`. We read it so that Fact G.1 holds: :math:`V^{\star,w}`
    stacks as many copies of V* as m rows allow, scaled to :math:`(V^{\star,w})^\top V^{\star,w} = (V^\star)^\top
    V^\star`, and D is a diagonal of random signs. Then :math:`D V^{\star,w}` is this matrix times V*.

    Arguments:
        learner: the weights W, for the number of their rows.
        wanted: V*, for the number of its rows.
        stream: where the signs come from.

    Reference: Allen-Zhu & Li (bfc), App. G, Fact G.1.
    """
    found = {}
    for layer, (m, k) in _sizes(learner, wanted).items():
        signs = 2.0 * stream.child(f"layer {layer}").bernoulli(0.5, m).double() - 1
        copies = torch.eye(k, dtype=torch.float64).repeat(m // k, 1) / (m // k) ** 0.5
        found[layer] = signs[:, None] * torch.nn.functional.pad(copies, (0, 0, 0, m - len(copies)))
    return found


def free_frames(learner: QuadraticWeights, wanted: Blocks) -> dict[int, torch.Tensor]:
    r"""For each layer a matrix with orthonormal columns, (m, k), in directions that W uses least.

    They are left singular vectors of :math:`W_\ell` with the least singular values. Where m exceeds the columns of
    :math:`W_\ell` by k, W has nothing there, and :math:`W^\top D = 0`: the error ξ of Fact G.1 vanishes, which random
    signs make small only for m beyond :math:`\mathrm{poly}(\tilde\kappa)/\varepsilon^2`. Ours, for small m.

    Arguments:
        learner: the weights W.
        wanted: V*, for the number of its rows.
    """
    found = {}
    for layer, (_, k) in _sizes(learner, wanted).items():
        W = torch.cat([learner.wide[layer, j] for j in learner.sources(layer)], 1)
        found[layer] = torch.linalg.svd(W)[0][:, -k:]
    return found


def descent_step(
    learner: QuadraticWeights,
    wanted: Blocks,
    frames: Mapping[int, torch.Tensor],
    wide_step: float,
    small_step: float,
) -> QuadraticWeights:
    r"""One step along the direction of App. G.

    .. math::
        W_\ell &\leftarrow \sqrt{1 - \eta_1}\,W_\ell + \sqrt{\eta_1}\,D_\ell V^{\star,w}_\ell \\
        K_{\ell\triangleleft} &\leftarrow (1 + \tfrac{\eta_1}{2}) K_{\ell\triangleleft} - \eta_1 Q_\ell
            K_{\ell\triangleleft} - \eta_2 K_{\ell,\ell-1} E_{\ell\triangleleft} \\
        K_{\ell,\ell-1} &\leftarrow (1 - \tfrac{\eta_1}{2}) K_{\ell,\ell-1} + \eta_1 Q_\ell K_{\ell,\ell-1}
            - \eta_2 K_{\ell\triangleleft} E_{\ell\triangleleft}^\top

    with :math:`E_{\ell\triangleleft} = K_{\ell,\ell-1}^\top K_{\ell\triangleleft} - (V^\star_{\ell,\ell-1})^\top
    V^\star_{\ell\triangleleft}` and :math:`2 Q_\ell = A^\top A` for :math:`A = V^\star_{\ell,\ell-1}
    K_{\ell,\ell-1}^\top (K_{\ell,\ell-1} K_{\ell,\ell-1}^\top)^{-1}`. A layer with one source has no block ◁.

    Arguments:
        learner: where the step begins. Layers that have K move it.
        wanted: V*, what :func:`target_in_basis` gives.
        frames: what :func:`random_frames` or :func:`free_frames` gives.
        wide_step: η₁.
        small_step: η₂.

    Reference: Allen-Zhu & Li (bfc), App. G.
    """
    require_positive("wide_step", wide_step)
    require(wide_step <= 1, f"wide_step must be at most 1, got {wide_step}")
    wide, small = dict(learner.wide), dict(learner.small)
    for layer, frame in frames.items():
        for j in learner.sources(layer):
            moved = wide_step**0.5 * frame @ wanted[layer, j]
            wide[layer, j] = (1 - wide_step) ** 0.5 * learner.wide[layer, j] + moved
        if (layer, layer - 1) in small:
            small |= _small(learner, wanted, layer, wide_step, small_step)
    return replace(learner, wide=wide, small=small)


def _small(
    learner: QuadraticWeights, wanted: Blocks, layer: int, wide_step: float, small_step: float
) -> dict[tuple[int, int], torch.Tensor]:
    others = [j for j in learner.sources(layer) if j != layer - 1]
    K, V = learner.small[layer, layer - 1], wanted[layer, layer - 1]
    A = torch.linalg.solve(K @ K.T, K @ V.T).T
    Q = A.T @ A / 2
    near = K + wide_step * (Q @ K - K / 2)
    found = {}
    for j in others:
        K_j = learner.small[layer, j]
        E = K.T @ K_j - V.T @ wanted[layer, j]
        found[layer, j] = K_j + wide_step * (K_j / 2 - Q @ K_j) - small_step * K @ E
        near = near - small_step * K_j @ E.T
    return found | {(layer, layer - 1): near}


def _sizes(learner: QuadraticWeights, wanted: Blocks) -> dict[int, tuple[int, int]]:
    """The rows of W and of V* by layer."""
    found = {layer: (len(learner.wide[layer, layer - 1]), len(wanted[layer, layer - 1])) for layer in learner.layers}
    for m, k in found.values():
        require(m >= k, f"W must have at least the {k} rows of the target's layer, got {m}")
    return found
