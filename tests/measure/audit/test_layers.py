"""How much each layer changes: known layers that move, and layers that do not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from audited import Toy, convolutional, dense, ended, of, tokens
from beyondkernels.algorithms import Descent, Softmax
from beyondkernels.algorithms.optimisers import adam
from beyondkernels.core import Ended, build, describe
from beyondkernels.engine import TrainedNetwork
from beyondkernels.measure import LayerChange
from beyondkernels.measure.audit import linear_similarity, moments, relative_move, weight_correlation
from beyondkernels.measure.audit.moments import chosen
from beyondkernels.networks import FromModule, FullyConnected

torch.set_num_threads(1)


def layers(found) -> list[str]:
    places = {name: value for name, value in found.scalars.items() if name.endswith("/place")}
    return [name.split("/")[1] for name in sorted(places, key=lambda name: places[name])]


def test_every_number_by_hand():
    run = ended(of(dense), Toy())
    found = LayerChange(points=20).measure(run)
    assert layers(found) == ["0", "2", "4"]
    at, x = moments(run), chosen(run, "test", 20).x
    start, middle = at[0], at[10]
    for name in ("0", "2", "4"):
        assert found.series[f"layer/{name}/step"].tolist() == [0, 10, 20]
        was, now = ({key: one.params[key] for key in (f"{name}.weight", f"{name}.bias")} for one in (start, middle))
        (before,), (after,) = (one.intermediates(x)[name] for one in (start, middle))
        expected = (weight_correlation(was, now), relative_move(was, now), linear_similarity(before, after))
        got = [found.series[f"layer/{name}/{key}"] for key in ("correlation", "move", "similarity")]
        assert [values[1] for values in got] == pytest.approx(expected)
        assert [values[0] for values in got] == pytest.approx([1, 0, 1])
        ends = [found.scalars[f"layer/{name}/{key}"] for key in ("correlation", "move", "similarity")]
        assert [values[-1] for values in got] == ends
        assert all(value < 0.999 for value in (ends[0], ends[2]))


def test_an_untrained_network_has_changed_nowhere():
    found = LayerChange().measure(ended(of(dense), Toy(), rate=1e-12))
    for name in layers(found):
        assert found.scalars[f"layer/{name}/correlation"] == pytest.approx(1)
        assert found.scalars[f"layer/{name}/similarity"] == pytest.approx(1)
        assert found.scalars[f"layer/{name}/move"] == pytest.approx(0, abs=1e-6)


def test_a_frozen_layer_is_found():
    network = FromModule(dense, "dense", {"rest": ("2.weight", "2.bias", "4.weight", "4.bias")})
    rule = Descent(20, adam(0.05), group="rest", objective=Softmax())
    learner = TrainedNetwork(network, rule, snapshot_at=(0, 20), snapshot_names=("all",))
    case = ended(network, Toy()).case
    found = LayerChange().measure(Ended(learner, case, learner.fit(case, lambda _: None)))
    moves = [found.scalars[f"layer/{name}/move"] for name in layers(found)]
    assert moves[0] == 0
    assert min(moves[1:]) > 0.01
    assert found.scalars["layer/0/similarity"] == pytest.approx(1)
    assert found.scalars["layer/2/similarity"] < 0.999


def test_normalisation_and_convolutions():
    found = LayerChange().measure(ended(of(convolutional), Toy(shape=(2, 6, 6))))
    assert layers(found) == ["0", "1", "3", "7"]
    assert "layer/1/correlation" not in found.scalars
    assert "layer/1/move" in found.scalars
    assert all(np.isfinite(values).all() for values in found.series.values())


def test_attention():
    found = LayerChange().measure(ended(of(tokens), Toy(shape=(3, 6))))
    assert layers(found) == ["embed", "attend", "norm", "read", "token"]
    assert found.scalars["layer/attend/correlation"] < 1
    assert "layer/token/move" not in found.scalars  # it starts at zero
    assert "layer/token/similarity" not in found.scalars


def test_networks_of_the_package():
    found = LayerChange().measure(ended(FullyConnected(width=8, depth=2), Toy()))
    assert len(layers(found)) >= 2
    assert all(found.scalars[f"layer/{name}/similarity"] < 1 for name in layers(found))


def test_description_and_back():
    assert build(describe(LayerChange(points=7))) == LayerChange(points=7)
