"""How much each layer changes: known layers that move, and layers that do not."""

import numpy as np
import pytest

from audited import Toy, convolutional, dense, ended, of
from beyondkernels.algorithms import Descent, Softmax
from beyondkernels.algorithms.optimisers import adam
from beyondkernels.core import Ended
from beyondkernels.engine import TrainedNetwork
from beyondkernels.measure import LayerChange
from beyondkernels.measure.audit import centred_alignment, linear_similarity, moments, relative_move, weight_correlation
from beyondkernels.measure.audit.layers import layer_parameters
from beyondkernels.measure.audit.moments import chosen
from beyondkernels.measure.audit.similarity import feature_gram
from beyondkernels.networks import FromModule, ThreeLayerResNet, block_features, with_blocks


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
        before, after = (block_features(one.network, one.params, one.buffers, x)[name] for one in (start, middle))
        expected = (weight_correlation(was, now), relative_move(was, now), linear_similarity(before, after))
        got = [found.series[f"layer/{name}/{key}"] for key in ("correlation", "move", "similarity")]
        assert [values[1] for values in got] == pytest.approx(expected)
        assert [values[0] for values in got] == pytest.approx([1, 0, 1])
        ends = [found.scalars[f"layer/{name}/{key}"] for key in ("correlation", "move", "similarity")]
        assert [values[-1] for values in got] == ends
        assert all(value < 0.999 for value in (ends[0], ends[2]))


def test_a_frozen_layer_is_found():
    network = FromModule(dense, "dense", {"rest": ("2.weight", "2.bias", "4.weight", "4.bias")})
    rule = Descent(20, adam(0.05), group="rest", loss=Softmax())
    learner = TrainedNetwork(network, rule, snapshot_at=(0, 20), snapshot_names=("all",))
    case = ended(network, Toy()).case
    found = LayerChange().measure(Ended(learner, case, learner.fit(case, lambda _: None)))
    moves = [found.scalars[f"layer/{name}/move"] for name in layers(found)]
    assert moves[0] == 0
    assert min(moves[1:]) > 0.01
    assert found.scalars["layer/0/similarity"] == pytest.approx(1)
    assert found.scalars["layer/2/similarity"] < 0.999


def test_normalisation_belongs_to_its_block():
    run = ended(of(convolutional), Toy(shape=(2, 6, 6)))
    found = LayerChange().measure(run)
    assert layers(found) == ["0", "3", "7"]
    assert all(np.isfinite(values).all() for values in found.series.values())
    was, now = (moments(run)[step].params for step in (0, 20))
    own = ("0.weight", "0.bias", "1.weight", "1.bias")
    expected = relative_move({name: was[name] for name in own}, {name: now[name] for name in own})
    assert found.scalars["layer/0/move"] == pytest.approx(expected)


def test_blocks_by_name():
    network = with_blocks(of(dense), 6, 3, {"below": ("0", "2"), "top": ("4",)})
    run = ended(network, Toy())
    found = LayerChange().measure(run)
    assert layers(found) == ["below", "top"]
    start, end = (moments(run)[step] for step in (0, 20))
    x = chosen(run, "test", 500).x
    outputs = (one.network.apply(one.params, one.buffers, x)[0] for one in (start, end))
    assert found.scalars["layer/top/similarity"] == pytest.approx(linear_similarity(*outputs))


def test_a_network_that_is_no_chain_is_seen_layer_by_layer():
    """The bottleneck form uses its readout twice."""
    run = ended(ThreeLayerResNet(width=8, form="bottleneck"), Toy(kind="numbers"))
    found = LayerChange().measure(run)
    assert set(layers(found)) == {"W", "A", "V"}
    x, (start, end) = chosen(run, "test", 500).x, (moments(run)[step] for step in (0, 20))
    grams = [sum(feature_gram(use) for use in one.intermediates(x)["A"]) for one in (start, end)]
    assert found.scalars["layer/A/similarity"] == pytest.approx(centred_alignment(*grams))  # pyright: ignore[reportArgumentType]


def test_parameters_of_layers():
    found = layer_parameters(["a.weight", "a.b.weight", "shift", "ab.weight"], ["ab", "a", "a.b"])
    assert found == {"ab": ("ab.weight",), "a": ("a.weight",), "a.b": ("a.b.weight",), "shift": ("shift",)}
