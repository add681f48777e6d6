"""One step of the learning process (4), written a second time with loops."""

import math
from dataclasses import replace

import pytest
import torch

from beyondkernels.algorithms import Batch, FeatureLearning, Hinge, ProcessSettings, StepSettings
from beyondkernels.core import Stream, describe
from beyondkernels.networks import Linearised, Symmetric, TwoLayer

N, D, M = 7, 4, 3


def settings(noise=0.3, keep_later=(0.9, 0.8), weights=(1.0, 1.0)) -> ProcessSettings:
    return ProcessSettings(
        initial=Symmetric(0.5, 0.3, 1.5),
        first=StepSettings(0.2, 0.2, keep_hidden=0.0, keep_output=1.0, noise_std=noise, class_weights=weights),
        second=StepSettings(1.0, 1.0, keep_hidden=0.0, keep_output=0.0, noise_std=noise, class_weights=weights),
        later=StepSettings(0.1, 0.4, *keep_later),
        steps=10,
        batch=5,
    )


def literal_step(params, x, y, at: StepSettings, hidden: bool, xi=None):
    """Eq. (4) point by point and neuron by neuron, in plain Python floats."""
    w, b, a = (params[name].double().tolist() for name in ("hidden.weight", "hidden.bias", "output.weight"))
    a = a[0]
    neurons, s = range(len(w)), at.noise_std

    def cdf(u):
        return 0.5 * (1 + math.erf(u / math.sqrt(2)))

    def smooth(z):
        def r(u):
            return u * cdf(u / s) + s * math.exp(-((u / s) ** 2) / 2) / math.sqrt(2 * math.pi)

        return (r(z) - r(z - 1), cdf(z / s) - cdf((z - 1) / s))

    def sharp(z):
        return (min(1.0, max(z, 0.0)), 1.0 if 0 < z < 1 else 0.0)

    grad_w = [[0.0] * len(x[0]) for _ in neurons]
    grad_b, grad_a, loss = [0.0 for _ in neurons], [0.0 for _ in neurons], 0.0
    for point, (xs, label) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        acts = []
        for i in neurons:
            z = sum(wij * xj for wij, xj in zip(w[i], xs, strict=True)) + b[i]
            z += xi[point][i] if xi is not None else 0.0
            acts.append(smooth(z) if s > 0 and xi is None else sharp(z))
        margin = label * sum(a[i] * acts[i][0] for i in neurons)
        share = (at.class_weights[1] if label == 1 else at.class_weights[0]) / len(x)
        loss += share * max(0.0, 1 - margin)
        if margin < 1:
            for i in neurons:
                grad_a[i] -= share * label * acts[i][0]
                grad_b[i] -= share * label * a[i] * acts[i][1]
                for j in range(len(xs)):
                    grad_w[i][j] -= share * label * a[i] * acts[i][1] * xs[j]
    lambda_w, lambda_a = at.penalties
    after = {
        "output.weight": [[ai - at.output_rate * (g + 2 * lambda_a * ai) for ai, g in zip(a, grad_a, strict=True)]]
    }
    if hidden:
        after["hidden.weight"] = [
            [wij - at.hidden_rate * (g + 2 * lambda_w * wij) for wij, g in zip(row, grads, strict=True)]
            for row, grads in zip(w, grad_w, strict=True)
        ]
        after["hidden.bias"] = [bi - at.hidden_rate * g for bi, g in zip(b, grad_b, strict=True)]
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in after.items()}, loss


def data():
    x = Stream(1).child("x").normal(N, D, dtype=torch.float64)
    y = torch.where(Stream(1).child("y").uniform(N) < 0.5, 1.0, -1.0).double()
    return Batch(x, y)


def asymmetric_params():
    params, _ = TwoLayer(M).init(D, 1, Stream(2))
    return {
        name: value.double() + Stream(3).child(name).normal(*value.shape).double() for name, value in params.items()
    }


def hyper_of(algorithm, stage, step):
    return {k: torch.tensor(v, dtype=torch.float64) for k, v in algorithm.hyper(stage, step).items()}


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("frozen", [None, 0, 1, 2])
@pytest.mark.parametrize("kind", ["smoothed", "drawn"])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (2.3, 0.6)], ids=["unweighted", "weighted"])
def test_step_is_equation_4(step, frozen, kind, weights):
    algorithm = FeatureLearning(settings(weights=weights), freeze_hidden_after=frozen, noise_kind=kind)
    stage, network = algorithm.stages()[step - 1], TwoLayer(M)
    params, batch = asymmetric_params(), data()
    noise = {
        name: value.double() for name, value in algorithm.noise(stage, network, params, N, Stream(9).at(step)).items()
    }
    result = algorithm.step(stage, network, params, {}, {}, batch, noise, hyper_of(algorithm, stage, step))
    xi = noise["noise"].tolist() if "noise" in noise else None
    trained_hidden = frozen is None or step <= frozen
    expected, loss = literal_step(params, batch.x, batch.y, algorithm.settings.at(step), trained_hidden, xi)
    assert result.loss.item() == pytest.approx(loss, rel=1e-12)
    for name, value in result.params.items():
        torch.testing.assert_close(value, expected.get(name, params[name]), rtol=1e-10, atol=1e-12)
    assert result.buffers == {}


@pytest.mark.parametrize("step", [1, 2, 3])
def test_rounded_forgetting_is_the_same_step_in_double_precision(step):
    algorithm = FeatureLearning(settings(), forgetting="rounded")
    stage, params, batch = algorithm.stages()[step - 1], asymmetric_params(), data()
    result = algorithm.step(stage, TwoLayer(M), params, {}, {}, batch, {}, hyper_of(algorithm, stage, step))
    expected, _ = literal_step(params, batch.x, batch.y, algorithm.settings.at(step), True)
    for name, value in result.params.items():
        torch.testing.assert_close(value, expected[name], rtol=1e-10, atol=1e-12)


def test_rounded_forgetting_leaves_a_rounding_error_in_single_precision():
    """With a tiny rate the cancelled weights leave more than the step is long; exact forgetting leaves nothing."""
    tiny = settings()
    tiny = replace(tiny, first=replace(tiny.first, hidden_rate=1e-9, output_rate=1e-9))
    params = {name: value.float() for name, value in asymmetric_params().items()}
    x, y = (part.float() for part in (data().x, data().y))
    moved = {}
    for forgetting in ("exact", "rounded"):
        algorithm = FeatureLearning(tiny, forgetting=forgetting)
        stage = algorithm.stages()[0]
        numbers = {name: torch.tensor(value) for name, value in algorithm.hyper(stage, 1).items()}
        after = algorithm.step(stage, TwoLayer(M), params, {}, {}, Batch(x, y), {}, numbers)
        moved[forgetting] = after.params["hidden.weight"].norm().item()
    assert 0 < moved["exact"] < 1e-7 < moved["rounded"] < 1e-5 * params["hidden.weight"].norm().item()
    assert describe(FeatureLearning(tiny))["fields"].keys() < describe(algorithm)["fields"].keys()


def test_classes_have_weights_in_the_first_two_steps_only():
    """The loss of a step is weighted; the loss that is reported is not."""
    algorithm, params, batch = FeatureLearning(settings(weights=(3.0, 0.0625))), asymmetric_params(), data()
    plain = FeatureLearning(settings())
    ratios = []
    for step, stage in enumerate(algorithm.stages(), start=1):
        with_weights, without = (
            each.step(stage, TwoLayer(M), params, {}, {}, batch, {}, hyper_of(each, stage, step))
            for each in (algorithm, plain)
        )
        ratios.append((with_weights.loss / without.loss).item())
        assert (algorithm.program(stage) == plain.program(stage)) == (step == 3)
    assert ratios[0] != pytest.approx(1, rel=0.05)
    assert ratios[1] != pytest.approx(1, rel=0.05)
    assert ratios[2] == 1
    assert algorithm.loss == plain.loss == Hinge()


def test_noise_is_drawn_only_while_it_is_injected():
    drawn = FeatureLearning(settings(), noise_kind="drawn")
    shapes = [
        drawn.noise(stage, TwoLayer(M), {"hidden.weight": torch.empty(2 * M, 1)}, 5, Stream(0)).get("noise")
        for stage in drawn.stages()
    ]
    assert [None if value is None else tuple(value.shape) for value in shapes] == [(5, 2 * M), (5, 2 * M), None]
    assert FeatureLearning(settings()).noise(drawn.stages()[0], TwoLayer(M), {}, 5, Stream(0)) == {}


def test_drawn_noise_averages_to_the_smoothed_step():
    smoothed, drawn = FeatureLearning(settings()), FeatureLearning(settings(), noise_kind="drawn")
    stage, network, params = smoothed.stages()[0], TwoLayer(M), asymmetric_params()
    params["output.weight"] *= 0.01  # every margin stays below one, so that the loss is linear in the activations
    hyper = hyper_of(smoothed, stage, 1)
    exact = smoothed.step(stage, network, params, {}, {}, data(), {}, hyper).params
    draws = []
    for i in range(400):
        noise = {k: v.double() for k, v in drawn.noise(stage, network, params, N, Stream(5).at(i)).items()}
        draws.append(drawn.step(stage, network, params, {}, {}, data(), noise, hyper).params)
    for name, value in exact.items():
        values = torch.stack([draw[name] for draw in draws])
        error = values.std(0) / len(draws) ** 0.5
        assert ((values.mean(0) - value).abs() <= 4.5 * error + 1e-12).all(), name


def test_stages_follow_the_paper():
    stages = FeatureLearning(settings()).stages()
    assert [(s.name, s.steps, s.batch) for s in stages] == [
        ("emergence", 1, None),
        ("improvement", 1, None),
        ("classifier", 8, 5),
    ]


def test_initial_scales_come_from_the_settings_also_when_linearised():
    algorithm = FeatureLearning(settings())
    params, _ = algorithm.initialise(TwoLayer(4000), 3, 1, Stream(0))
    for name, std in (("hidden.weight", 0.5), ("hidden.bias", 0.3), ("output.weight", 1.5)):
        draws = params[name].flatten()[: params[name].numel() // 2]
        assert draws.std().item() == pytest.approx(std, rel=5 / math.sqrt(2 * draws.numel()))
    displacement, buffers = algorithm.initialise(Linearised(TwoLayer(4000)), 3, 1, Stream(0))
    assert torch.equal(buffers["at.hidden.weight"], params["hidden.weight"])
    assert not displacement["hidden.weight"].any()
