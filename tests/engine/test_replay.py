"""Recorded functions of tensors against the functions themselves, among them many random ones."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from beyondkernels.core import Stream
from beyondkernels.engine import tape
from beyondkernels.engine.replay import Replay
from beyondkernels.engine.tape import UnrecordableError, record

State = dict[str, torch.Tensor]


def fresh(seed: int, **shapes: tuple[int, ...]) -> State:
    return {name: Stream(seed).child(name).normal(*shape) for name, shape in shapes.items()}


def replayed(function: Callable[[State], State], start: State, steps: int = 3) -> Replay:
    """Check that steps from the record are those of the function, each from new inputs that are not state."""
    results, written = record(function, {name: value.clone() for name, value in start.items()})
    machine = Replay(written)
    exact = dict(start)
    for name, value in start.items():
        machine.inputs[name].copy_(value)
    for step in range(steps):
        for name in start.keys() - results.keys():
            exact[name] = Stream(step).child("new", name).normal(*start[name].shape)
            machine.inputs[name].copy_(exact[name])
        given = {name: value.clone() for name, value in exact.items()}
        found = function(given)
        machine.run()
        for name, value in found.items():
            assert torch.equal(value, machine.outputs[name]), (step, name)
        exact |= {name: value.clone() for name, value in found.items() if name in start}
    return machine


def operations(machine: Replay) -> list[str]:
    return [getattr(one.func, "__name__", "") for one in machine._program]


def test_what_is_done_twice_is_done_once_and_what_is_not_needed_not_at_all():
    def function(s: State) -> State:
        torch.exp(s["x"])
        return {"out": torch.exp(s["x"] * 2) + torch.exp(s["x"] * 2)}

    assert operations(replayed(function, fresh(0, x=(3, 4)))) == ["mul", "exp", "add"]


def test_constants_are_not_computed_again():
    def function(s: State) -> State:
        one = torch.ones_like(s["x"]) / torch.full((3, 1), 7.0)
        return {"out": s["x"] * one.exp()}

    assert operations(replayed(function, fresh(0, x=(3, 4)))) == ["mul"]


def test_zeros_are_laid_down_once_and_nothing_is_copied():
    """Two layers with padding: rectified sums and slopes are written inside frames, and so is the new state."""

    def function(s: State) -> State:
        def loss(w: torch.Tensor) -> torch.Tensor:
            h = torch.relu((F.pad(s["x"], (0, 3)) @ F.pad(w, (0, 3, 0, 2)).mT)[..., :6])
            return ((F.pad(h, (0, 2)) @ F.pad(s["a"], (0, 2)).mT) ** 2).sum()

        gradient = torch.func.grad(loss)(s["w"])
        return {"w": s["w"] - 0.01 * gradient}

    machine = replayed(function, fresh(0, x=(2, 4, 5), w=(2, 6, 5), a=(2, 3, 6)))
    assert set(operations(machine)) == {"bmm", "clamp_min", "mul", "_threshold_backward", "sub", "pow"}


def test_products_do_not_read_inside_frames():
    """Their rounding may depend on where a matrix begins, so it begins where it did."""

    def function(s: State) -> State:
        h = torch.relu(s["x"])
        return {"out": F.pad(h, (0, 3)).sum(1), "product": torch.bmm(h, s["w"])}

    def cropped(s: State) -> State:
        return {"product": torch.bmm(F.pad(s["x"] * 2, (0, -1)), s["w"][:, 1:])}

    for each, stride in ((function, (12, 4, 1)), (cropped, (9, 3, 1))):
        machine = replayed(each, fresh(0, x=(2, 3, 4), w=(2, 4, 3)))
        products = [one for one in machine._program if getattr(one.func, "__name__", "") == "bmm"]
        assert [one.args[0].stride() for one in products] == [stride]


def numbers(s: State) -> State:
    """A number times a single tensor without dimensions is rounded to single precision first; a tensor would not be."""
    return {"out": torch.stack([each * 0.1 for each in s["x"].unbind()])}


def frame_in_use(s: State) -> State:
    """The new state is known before the last look at the old one's frame."""
    framed = F.pad(s["w"], (1, 2))
    new = s["w"] * 0.5
    return {"w": new, "out": framed @ framed.mT, "more": new.sum(1)}


def read_later(s: State) -> State:
    new = s["v"] * 0.9 + 1
    return {"v": new, "w": s["w"] - new * s["v"], "out": torch.tanh(s["v"])}


def parts(s: State) -> State:
    large = torch.cat([s["v"], s["w"]]) * 2
    return {"v": large[:4], "w": (s["w"] + s["v"]).mT.contiguous().mT, "c": torch.ones(2)}


def one_for_two(s: State) -> State:
    new = s["v"] + s["w"]
    return {"v": new, "w": new}


def several_results(s: State) -> State:
    variance, mean = torch.var_mean(s["x"], 1)
    values, _ = torch.sort(s["x"], 1)
    first, second = torch.split(s["x"] + 1, 2, 1)
    _, again = torch.var_mean(s["x"], 1)
    found = {"x": s["x"] + variance[:, None], "mean": mean, "again": again * 2, "sorted": values}
    return found | {"product": first * second}


def changes_in_place(s: State) -> State:
    y = s["x"] * 2
    z = y.mT  # a view sees the change
    before = y + 0
    y.add_(1).mul_(s["x"])
    return {"x": before + y, "out": z.sum(0)}


SHAPES = {
    numbers: {"x": (30,)},
    frame_in_use: {"w": (2, 3, 5)},
    read_later: {"v": (3, 4), "w": (3, 4)},
    parts: {"v": (4, 4), "w": (4, 4), "c": (2,)},
    one_for_two: {"v": (3, 4), "w": (3, 4)},
    several_results: {"x": (3, 4)},
    changes_in_place: {"x": (3, 4)},
}


@pytest.mark.parametrize("function", SHAPES)
def test_steps_from_the_record_are_those_of_the_function(function):
    replayed(function, fresh(0, **SHAPES[function]))


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda s: {"x": s["x"].add_(1)}, "changes what it is given"),
        (lambda s: {"x": (s["x"] * 2)[0].add_(1)}, "changes what it is given"),
        (lambda s: {"x": (s["x"] * 2).exp_()}, "changes what it is given"),
        (lambda s: {"x": s["x"] + torch.rand(3, 4)}, "draws random numbers"),
        (lambda s: {"x": s["x"] * s["x"].sum().item()}, "reads a number back"),
        (lambda s: {"x": (s["x"] * 2).view(torch.int32).view(torch.float32)}, "another kind of number"),
        (lambda s: {"x": s["x"].to_sparse().to_dense()}, "plain tensors"),
    ],
    ids=["input", "part", "unknown", "random", "item", "bits", "sparse"],
)
def test_what_cannot_be_repeated_is_refused(function, sentence):
    with pytest.raises(UnrecordableError, match=sentence):
        record(function, fresh(0, x=(3, 4)))


@pytest.mark.parametrize(
    "function",
    [
        lambda s: {"a": s["b"], "b": s["a"]},
        lambda s: {"a": s["a"] * 2, "b": s["b"], "before": s["a"]},
        lambda s: {"a": s["a"] * 2, "b": s["b"], "before": s["a"][1:]},
    ],
    ids=["places", "kept", "part"],
)
def test_inputs_that_are_other_outputs_are_refused(function):
    _, written = record(function, fresh(0, a=(3,), b=(3,)))
    with pytest.raises(UnrecordableError, match="an input becomes another output"):
        Replay(written)


def test_memory(monkeypatch):
    monkeypatch.setattr(tape, "_BYTES", 90)  # two results of 48 bytes
    with pytest.raises(UnrecordableError, match="too much memory"):
        record(lambda s: {"x": s["x"] * 2 + 1}, fresh(0, x=(3, 4)))


def random_function(stream: Stream, length: int) -> Callable[[State], State]:
    """A random function of two matrices in company and a vector, made of what steps are made of."""
    choices = stream.integers(2**31, length, 4).tolist()

    def function(s: State) -> State:
        known = [s["v"], s["w"], s["x"]]  # all of shape (2, 3, 4)
        for kind, first, second, amount in choices:
            a, b, k = known[first % len(known)], known[second % len(known)], 1 + amount % 3
            match kind % 12:
                case 0:
                    new = a + b
                case 1:
                    new = a - 0.5 * b
                case 2:
                    new = torch.relu(a) * 0.7
                case 3:
                    new = F.pad(a, (0, k))[..., :4]
                case 4:
                    new = F.pad(F.pad(a, (k, 0, 0, 1)), (-k, 0, 0, -1))
                case 5:
                    new = (F.pad(a, (0, k)) @ F.pad(b, (0, k)).mT) @ a * 0.1
                case 6:
                    new = a * b.sum(1, keepdim=True) * 0.1
                case 7:
                    new = torch.tanh(a)
                case 8:
                    new = (a.mT * b.mT).mT
                case 9:
                    new = a / (1 + b * b)
                case 10:
                    new = (a * 1).clamp(-1, 1).sub_(b)
                case _:
                    new = torch.ops.aten.slice_backward(a[..., :2], [2, 3, 4], 2, k - 1, k + 1, 1)
            known.append(torch.clamp(new, -3, 3) if kind % 5 == 0 else new)
        return {"v": known[-1], "w": known[-2], "out": known[-3].sum(2)}

    return function


@pytest.mark.parametrize("seed", range(40))
def test_random_functions(seed):
    stream = Stream(seed).child("function")
    function = random_function(stream, 4 + seed % 12)
    replayed(function, fresh(seed, v=(2, 3, 4), w=(2, 3, 4), x=(2, 3, 4)))
