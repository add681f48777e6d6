"""Where features appear: how much each part of a network has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Ended, InputError, Measured
from beyondkernels.core.constraints import positive
from beyondkernels.engine import Predictor
from beyondkernels.measure.audit.moments import chosen, moments
from beyondkernels.measure.audit.similarity import centred_alignment, feature_gram
from beyondkernels.measure.audit.weights import relative_move, under, weight_correlation
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.networks import block_features

Look = Callable[[Predictor, torch.Tensor], dict[str, torch.Tensor]]
"""Gives the Gram matrices of the features of all parts of a network at points."""


@dataclass(frozen=True)
class LayerChange(Measurement):
    """For each block, how far its weights have turned and moved, and how similar its features still are to the start's.

    The blocks are those of :func:`~beyondkernels.networks.find_blocks`, or those that
    :func:`~beyondkernels.networks.with_blocks` has set. A network that is no chain of blocks is looked at layer by
    layer. Series ``layer/<name>/…``, one number for each snapshot, and scalars of the same names at the end:

    - ``correlation``: :func:`weight_correlation` with the start; none where no weight of the block has a direction, as
      in normalisation;
    - ``move``: :func:`relative_move` from the start; none where all parameters start at zero;
    - ``similarity``: linear CKA (:func:`linear_similarity`) of the block's features with those at the start, at test
      points; none where they cannot be seen. The features are what enters the next block, those of the last block the
      predictions. Those of a layer are its outputs.

    The scalar ``layer/<name>/place`` counts the blocks from 0 in the order in which they are used.

    Arguments:
        points: how many test points at most, drawn by the run's stream.

    Reference: Allen-Zhu & Li (bfc), Figure 9; Kornblith et al. (2019), Similarity of neural network representations
    revisited, ICML.
    """

    points: Annotated[int, positive] = 500

    def measure(self, run: Ended) -> Measured:
        """All numbers of all blocks."""
        at = moments(run)
        x = chosen(run, "test", self.points).x
        if x.is_floating_point():  # a distribution may draw numbers of another precision than the network's
            x = x.to(next((value.dtype for value in at[0].params.values()), x.dtype))
        parts, look = parts_of(at[0], x[:2])
        before = look(at[0], x)
        rows: dict[str, list[dict[str, float]]] = {name: [] for name in parts}
        for one in at.values():
            now = look(one, x)
            for name, own in parts.items():
                was, became = under(at[0].params, own), under(one.params, own)
                row = {"correlation": weight_correlation(was, became), "move": relative_move(was, became)}
                if name in before and name in now:
                    row["similarity"] = centred_alignment(before[name], now[name])
                rows[name].append({key: value for key, value in row.items() if value is not None})
        scalars: dict[str, float] = {}
        series = {}
        for place, (name, found) in enumerate(rows.items()):
            group = f"layer/{name}"
            scalars[f"{group}/place"] = float(place)
            scalars |= {f"{group}/{key}": value for key, value in found[-1].items()}
            series |= over_steps(group, at, found)
        return Measured(scalars, series)


def parts_of(at: Predictor, x: torch.Tensor) -> tuple[dict[str, tuple[str, ...]], Look]:
    """The parameters of each block, or of each layer of a network that is no chain of blocks, and what shows features.

    Arguments:
        at: the network.
        x: one or two points.
    """
    try:
        blocks = at.network.blocks_of(at.params, at.buffers, x)
    except InputError:
        return layer_parameters(at.params, layer_grams(at, x)), layer_grams
    return {block.name: block.parameters for block in blocks}, block_grams


def block_grams(at: Predictor, x: torch.Tensor) -> dict[str, torch.Tensor]:
    """The Gram matrix of the centred features of each block, (n, n)."""
    with torch.no_grad():
        found = block_features(at.network, at.params, at.buffers, x)
    return {name: feature_gram(features) for name, features in found.items() if len(features) == len(x)}


def layer_grams(at: Predictor, x: torch.Tensor) -> dict[str, torch.Tensor]:
    """The Gram matrix of the centred outputs of each layer, (n, n); of a layer with several uses, their sum."""
    found = {}
    for name, uses in at.intermediates(x).items():
        seen = [use[0] if isinstance(use, tuple) else use for use in uses]  # attention also gives its weights
        if name and all(isinstance(one, torch.Tensor) and len(one) == len(x) for one in seen):
            found[name] = torch.stack([feature_gram(one) for one in seen]).sum(0)
    return found


def layer_parameters(names: Iterable[str], layers: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The parameters of each layer. One that belongs to no layer is a layer of its own, after all others.

    Arguments:
        names: of the parameters.
        layers: their names; a parameter belongs to the longest one that its own name begins with.

    >>> layer_parameters(["a.weight", "a.b.weight", "shift"], ["a", "a.b"])
    {'a': ('a.weight',), 'a.b': ('a.b.weight',), 'shift': ('shift',)}
    """
    found: dict[str, tuple[str, ...]] = dict.fromkeys(layers, ())
    for name in names:
        owners = [layer for layer in found if name == layer or name.startswith(f"{layer}.")]
        owner = max(owners, key=len, default=name)
        found[owner] = (*found.get(owner, ()), name)
    return found
