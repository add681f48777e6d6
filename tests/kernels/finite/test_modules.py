"""Kernels of modules that take images, words or sequences, against gradients point by point."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import nn

from beyondkernels.core import InputError, Stream, seeded_globally
from beyondkernels.kernels.finite import layers
from beyondkernels.kernels.finite.factors import JacobianGradient, OneByOneGradient
from beyondkernels.kernels.finite.functional import module_tangent_gram
from beyondkernels.kernels.finite.memory import peak_bytes
from beyondkernels.kernels.finite.module_gradient import ModuleGradient
from beyondkernels.kernels.finite.windows import paddings, windows
from refusals import refused, told

IMAGE, SERIES, WORDS = (2, 7, 6), (2, 9), (5, 4)


class Residual(nn.Module):
    """Two convolutions around which the input passes, added in place, as residual networks do."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, padding=1)
        self.inner = nn.Sequential(nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Conv2d(4, 4, 3, padding=1))
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        h = self.first(x)
        h = self.inner(h).add_(h)
        return self.last(F.relu(h, inplace=True).mean((2, 3)))


class Twice(nn.Module):
    """One layer used twice, of which the second time on many positions, and one weight in two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.other, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.other.weight = self.layer.weight

    def forward(self, x):  # (n, 5, 4)
        h = torch.tanh(self.layer(x[:, 0]))
        return self.last(torch.tanh(self.layer(x * h[:, None])).sum(1) + self.other(h))


class Bare(nn.Module):
    """Parameters outside layers: a scale, and a weight that is used by a layer and past it."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([0.5, -1.0, 2.0, 0.3]))
        self.layer, self.last = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        h = torch.tanh(self.layer(x) * self.scale)
        return self.last(h) + (h @ self.layer.weight.T).sum(1, keepdim=True)


class Attention(nn.Module):
    """Attention without its usual surroundings, words first, so that the batch is the second dimension."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.attend, self.last = nn.Linear(4, 6), nn.MultiheadAttention(6, 2), nn.Linear(6, 2)

    def forward(self, x):
        h = self.embed(x.transpose(0, 1))
        return self.last(self.attend(h, h, h, need_weights=False)[0]).mean(0)


class Frames(nn.Module):
    """The frames of a film as one batch of images."""

    def __init__(self) -> None:
        super().__init__()
        self.see, self.tell = nn.Conv1d(4, 3, 2), nn.Linear(9, 2)

    def forward(self, x):  # (n, 5, 4): five frames
        n = len(x)
        h = F.gelu(self.see(x.reshape(n * 5, 4, 1).repeat(1, 1, 4) * torch.arange(1.0, 5.0, dtype=x.dtype)))
        return self.tell(h.flatten(1)).reshape(n, 5, 2).sum(1)


class FramesLast(nn.Module):
    """The same with the frames outside: rows of one point are not side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.tell = nn.Linear(4, 2)

    def forward(self, x):
        n = len(x)
        return torch.tanh(self.tell(x.transpose(0, 1).reshape(5 * n, 4))).reshape(5, n, 2).sum(0)


class Language(nn.Module):
    """Words in, the same table of words out."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.mix = nn.Embedding(7, 4, padding_idx=0), nn.Linear(4, 4)
        self.out = nn.Linear(4, 7, bias=False)
        self.out.weight = self.words.weight

    def forward(self, x):
        return self.out(torch.tanh(self.mix(self.words(x))).mean(1))


class Recurrent(nn.Module):
    """A recurrent layer, which torch.func cannot vectorise."""

    def __init__(self, cell: type[nn.Module] = nn.LSTM) -> None:
        super().__init__()
        self.cell, self.last = cell(4, 3, batch_first=True), nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.cell(x)[0][:, -1])


class Cell(nn.Module):
    """One step of a recurrent layer."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.last = nn.GRUCell(4, 3), nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.cell(x))


class Watching(nn.Module):
    """Layers that take much memory for each point, and a cell whose gradient takes more than two points of theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.see, self.cell = nn.Conv2d(2, 40, 3, padding=1), nn.GRUCell(40, 30)
        self.last = nn.Linear(30, 1)

    def forward(self, x):
        return self.last(self.cell(F.gelu(self.see(x)).mean((2, 3))))


class Leaky(nn.Module):
    """Slopes that are no layer's: torch.func takes points for outputs where there are as many."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 5), nn.Linear(5, 2)
        self.slopes = nn.Parameter(torch.linspace(-0.3, 0.4, 5))

    def forward(self, x):
        return self.last(self.first(x).prelu(self.slopes))


class Untouched(nn.Module):
    """A parameter that reaches no output."""

    def __init__(self) -> None:
        super().__init__()
        self.idle, self.last = nn.Parameter(torch.ones(2)), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(x)


def strided() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 2)),
        nn.ReLU(inplace=True),
        nn.Conv2d(4, 6, 2, dilation=2, groups=2, padding="same"),
        nn.Tanh(),
        nn.Conv2d(6, 6, 3, groups=6, padding=1, padding_mode="circular", bias=False),
        nn.GELU(),
        nn.Flatten(),
        nn.LazyLinear(3),
    )


def normalised() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 4, 1),
        nn.GroupNorm(2, 4),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.LazyLinear(6),
        nn.LayerNorm(6),
        nn.BatchNorm1d(6),
        nn.Linear(6, 2),
    )


def late() -> nn.Module:
    """Many channels and few positions: products of vectors are cheaper than gradients."""
    return nn.Sequential(
        nn.Conv2d(2, 12, 3, stride=3), nn.ReLU(), nn.Conv2d(12, 12, 2, padding=(0, 1)), nn.ReLU(), nn.Flatten(),
        nn.LazyLinear(3),
    )  # fmt: skip


CASES = {
    "strided": (strided, IMAGE, "all"),
    "normalised": (normalised, IMAGE, "all"),
    "late": (late, IMAGE, "all"),
    "residual": (Residual, IMAGE, "all"),
    "volume": (
        lambda: nn.Sequential(
            nn.Unflatten(1, (2, 1)), nn.Conv3d(2, 3, (1, 3, 2), stride=(1, 2, 1)), nn.ReLU(), nn.Flatten(),
            nn.Linear(45, 2),
        ),
        IMAGE,
        "all",
    ),
    "series": (
        lambda: nn.Sequential(nn.Conv1d(2, 4, 3, dilation=2), nn.SiLU(), nn.Conv1d(4, 2, 2), nn.Flatten()),
        SERIES,
        "all",
    ),
    "encoder": (
        lambda: nn.Sequential(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), nn.Flatten(), nn.Linear(20, 2)),
        WORDS,
        {"0.linear1.weight", "0.linear2.bias", "0.norm1.weight", "0.norm2.bias", "2.weight"},
    ),
    "attention": (Attention, WORDS, {"embed.weight", "last.weight"}),
    "twice": (Twice, WORDS, "all"),
    "bare": (Bare, (4,), {"layer.bias", "last.weight", "last.bias"}),
    "frames": (Frames, WORDS, "all"),
    "frames outside": (FramesLast, WORDS, set()),
    "two tables": (
        lambda: nn.Sequential(nn.LayerNorm(list(WORDS)), nn.Flatten(), nn.Linear(20, 2)),
        WORDS,
        {"2.weight", "2.bias"},
    ),
    "one number": (lambda: nn.Sequential(nn.Linear(4, 1), nn.Flatten(0)), (4,), "all"),
    "one slope": (
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.PReLU(), nn.Flatten(), nn.LazyLinear(4), nn.PReLU()),
        IMAGE,
        "all",
    ),
    "slopes": (
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.PReLU(3), nn.Flatten(), nn.LazyLinear(4), nn.PReLU(4)),
        IMAGE,
        "all",
    ),
    "slopes of no layer": (Leaky, (4,), {"first.weight", "first.bias", "last.weight", "last.bias"}),
    "long memory": (Recurrent, WORDS, {"last.weight", "last.bias"}),
    "gated": (lambda: Recurrent(nn.GRU), WORDS, {"last.weight", "last.bias"}),
    "cell": (Cell, (4,), {"last.weight", "last.bias"}),
    "watching": (Watching, IMAGE, {"see.weight", "see.bias", "last.weight", "last.bias"}),
    "untouched": (Untouched, (4,), {"last.weight", "last.bias"}),
    "weight norm": (lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))), (4,), {"0.bias"}),
}  # fmt: skip


def made(name: str) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """A module in evaluation mode with statistics of its own, and two batches."""
    factory, shape, _ = CASES[name]
    with seeded_globally(Stream(0)):
        module = factory()
        module(batch(3, shape).float())
        module = module.double().train()
        module(batch(20, shape))  # running statistics that are not trivial
        with torch.no_grad():
            for value in module.parameters():
                value += 0.1 * torch.randn_like(value)  # ones and zeros of normalisations hide mistakes
    return module.eval(), batch(4, shape), batch(3, shape, "other")


def batch(n: int, shape: tuple[int, ...], name: str = "x") -> torch.Tensor:
    return Stream(2).child(name).normal(n, *shape, dtype=torch.float64)


def jacobian(module: nn.Module, x: torch.Tensor, parameters: list[nn.Parameter] | None = None) -> torch.Tensor:
    """The gradient of each output at each point, alone, (n, k, size)."""
    wanted = list(module.parameters()) if parameters is None else parameters
    found = []
    for i in range(len(x)):
        out = module(x[i : i + 1]).reshape(-1)
        rows = [torch.autograd.grad(f, wanted, retain_graph=True, materialize_grads=True) for f in out]
        found.append(torch.stack([torch.cat([part.flatten() for part in row]) for row in rows]))
    return torch.stack(found)


def same(value: torch.Tensor, truth: torch.Tensor, relative: float = 1e-10) -> bool:
    return value.shape == truth.shape and bool((value - truth).abs().max() <= relative * truth.abs().max())


def exact(module: nn.Module, x: torch.Tensor) -> bool:
    """Whether the kernel of a batch is what gradients point by point make of it."""
    truth = jacobian(module, x)
    return same(module_tangent_gram(module, x, outputs="full"), torch.einsum("nap,mbp->nmab", truth, truth))


def gradient_of(module: nn.Module, x: torch.Tensor) -> ModuleGradient:
    params = {name: value.detach() for name, value in module.named_parameters()}

    def function(params, x):
        return torch.func.functional_call(module, params, (x,))

    return ModuleGradient(function, params, x, "full", torch.float64)


@pytest.mark.parametrize("name", CASES)
def test_every_entry_against_gradients_point_by_point(name):
    module, x1, x2 = made(name)
    first, second = jacobian(module, x1), jacobian(module, x2)
    full = torch.einsum("nap,mbp->nmab", first, second)
    assert same(module_tangent_gram(module, x1, x2, outputs="full"), full)
    assert same(module_tangent_gram(module, x1, outputs="full"), torch.einsum("nap,mbp->nmab", first, first))
    assert same(module_tangent_gram(module, x1, x2), full.diagonal(dim1=2, dim2=3).mean(-1))
    single = module_tangent_gram(module, x1, x2, outputs="full", dtype=torch.float32)
    assert single.dtype == torch.float32
    assert same(single.double(), full, 1e-4)


@pytest.mark.parametrize("name", CASES)
def test_which_parameters_are_differentiated_by_layers(name):
    module, x, _ = made(name)
    expected = CASES[name][2]
    found = gradient_of(module, x).by_layers
    if expected == "all":
        assert found == {name for name, _ in module.named_parameters()}
    else:
        assert isinstance(expected, set)
        assert found >= expected
        rest = ("slopes", "idle", "_ih", "in_proj", "scale", "layer.weight", "tell.weight", "0.weight", "original0")
        assert not any(other in one for one in found - expected for other in rest)
        assert len(found) < len(list(module.parameters()))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_what_torch_func_gets_wrong_is_differentiated_point_by_point(n):
    module, _, _ = made("slopes of no layer")
    x = batch(n, (4,))
    truth = jacobian(module, x)
    assert same(module_tangent_gram(module, x, outputs="full"), torch.einsum("nap,mbp->nmab", truth, truth), 1e-12)
    assert isinstance(gradient_of(module, x)._rest, OneByOneGradient)


@pytest.mark.parametrize("name", ["encoder", "bare"])
def test_what_torch_func_gets_right_stays_with_it(name):
    module, x, _ = made(name)
    assert type(gradient_of(module, x)._rest) is JacobianGradient


def test_a_module_that_does_not_take_random_points_is_checked_at_its_own():
    class Places(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.last = nn.Parameter(torch.linspace(-1, 1, 12).view(4, 3)), nn.Linear(3, 2)

        def forward(self, x):
            return self.last(F.embedding(x.long(), self.table.tanh()).sum(1))

    with seeded_globally(Stream(0)):
        module = Places().double()
    x = torch.tensor([[0.0, 1.0], [3.0, 3.0], [2.0, 0.0], [1.0, 2.0]], dtype=torch.float64)
    assert exact(module, x)
    assert type(gradient_of(module, x)._rest) is JacobianGradient


def test_words_and_a_table_that_is_used_at_both_ends():
    with seeded_globally(Stream(0)):
        module = Language().double()
    x = torch.tensor([[1, 2, 0], [3, 3, 5], [6, 0, 0], [4, 2, 1]])
    assert gradient_of(module, x).by_layers == {"words.weight", "mix.weight", "mix.bias"}
    assert exact(module, x)


@pytest.mark.parametrize("name", ["strided", "late", "residual", "twice", "encoder"])
@pytest.mark.parametrize("outputs", ["traced", "full"])
def test_both_ways_and_chunks_of_any_size_give_one_value(name, outputs, monkeypatch):
    from beyondkernels.kernels.finite import module_gradient

    module, _, _ = made(name)
    x = batch(11, CASES[name][1])
    whole = module_tangent_gram(module, x, outputs=outputs)
    for way, numbers in ((-1e9, 2**22), (1e9, 2**22), (16, 1)):  # all apart, all formed, points one by one
        monkeypatch.setattr(module_gradient, "_POINTWISE", way)
        monkeypatch.setattr(module_gradient, "_NUMBERS", numbers)
        assert same(module_tangent_gram(module, x, outputs=outputs), whole, 1e-12)


class Clamped(nn.Module):
    """Outputs that end at 1, which random points of the size of most do not reach."""

    def __init__(self) -> None:
        super().__init__()
        self.see, self.tell = nn.Conv2d(2, 4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.tell(F.gelu(self.see(x)).mean((2, 3))).clamp(max=1.0)


def test_proportional_gradients_are_found_and_given_up_where_they_are_not():
    module, x, _ = made("residual")
    assert gradient_of(module, x)._common.keys() == {"inner.2.weight"}
    with seeded_globally(Stream(0)):
        module = Clamped().double()
    x = batch(8, IMAGE)
    assert gradient_of(module, x)._common.keys() == {"see.weight"}
    x[5] *= 40
    assert 0 < int((module(x) == 1).sum()) < 8 * 3
    truth = jacobian(module, x)
    full = torch.einsum("nap,mbp->nmab", truth, truth)
    assert gradient_of(module, x[:1])._common.keys() == {"see.weight"}
    assert same(module_tangent_gram(module, x[:5], x, outputs="full"), full[:5])
    assert same(module_tangent_gram(module, x[:5], x), full[:5].diagonal(dim1=2, dim2=3).mean(-1))


def test_late_convolutions_stay_products():
    module, x, _ = made("late")
    kept = {name for name, pair in gradient_of(module, x)._pairs.items() if pair.positions > 1}
    assert kept == {"2.weight"}


@pytest.mark.parametrize("name", ["strided", "late", "residual", "encoder", "bare", "twice", "long memory", "watching"])
def test_the_budget_is_kept(name):
    module, _, _ = made(name)
    x = batch(9, CASES[name][1])

    def gram(outputs, memory: int) -> torch.Tensor:
        return module_tangent_gram(module, x, outputs=outputs, memory=memory)

    for outputs in ("full", "traced"):
        budget = int(1.05 * told("at least", gram, outputs, 1))
        found = []
        assert peak_bytes(lambda found=found, b=budget, o=outputs: found.append(gram(o, b))) <= budget
        assert same(found[0], gram(outputs, 2**30), 1e-12)


def test_frozen_parameters_do_not_count_and_others_can_be_named():
    module, x, _ = made("residual")
    truth = jacobian(module, x, [*module.get_submodule("inner").parameters()])
    expected = torch.einsum("nap,mbp->nmab", truth, truth)
    assert same(module_tangent_gram(module, x, parameters=["inner"], outputs="full"), expected)
    module.get_submodule("first").requires_grad_(False)
    module.get_submodule("last").requires_grad_(False)
    assert same(module_tangent_gram(module, x, outputs="full"), expected)


def test_at_other_numbers_than_the_modules_own():
    module, x, _ = made("residual")
    other = {name: value.detach() * 0.7 + 0.1 for name, value in module.named_parameters()}
    means = {"inner.0.running_mean": torch.tensor([0.3, -0.2, 0.1, 0.5])}
    before = module_tangent_gram(module, x)
    value = module_tangent_gram(module, x, params=other, buffers=means, outputs="full")
    assert torch.equal(module_tangent_gram(module, x), before)
    module.load_state_dict({**module.state_dict(), **other, **means})
    truth = jacobian(module, x)
    assert same(value, torch.einsum("nap,mbp->nmab", truth, truth))
    refused(r"buffer 'last\.wieght', did you", module_tangent_gram, module, x, params={"last.wieght": torch.zeros(1)})
    refused(r"must have shape \(3,\), got \(1,\)", module_tangent_gram, module, x, params={"last.bias": torch.zeros(1)})


def test_training_mode_is_left_alone_and_not_used():
    module, x, _ = made("normalised")
    truth = module_tangent_gram(module, x)
    module.train()
    module.get_submodule("4").eval()
    before = {name: value.clone() for name, value in module.named_buffers()}
    assert torch.equal(module_tangent_gram(module, x), truth)
    assert all(torch.equal(value, before[name]) for name, value in module.named_buffers())
    assert module.training
    assert not module.get_submodule("4").training


def test_points_that_meet_are_left_to_single_points():
    """Batch statistics in evaluation mode: a kernel of pairs is that of each point alone."""
    module = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3, track_running_stats=False), nn.Flatten(), nn.LazyLinear(2)
    )
    x = batch(3, IMAGE)
    with seeded_globally(Stream(0)):
        module(x.float())
    module = module.double().eval()
    assert exact(module, x)


def test_a_module_that_takes_another_path_says_so():
    class Fork(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(3, 1), nn.Linear(3, 1)

        def forward(self, x):
            return self.left(x) if float(x.sum()) < 100 else self.right(x)

    with pytest.raises(InputError, match="must call the same layers for all points"):
        module_tangent_gram(Fork(), torch.tensor([[0.0, 0.0, 0.1]] * 63 + [[1000.0, 0.0, 0.0]]))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_windows_are_what_a_convolution_sees(dims):
    x = batch(2, (4, 9, 8, 7)[: dims + 1])
    weight = Stream(3).normal(6, 2, *(3, 2, 2)[:dims], dtype=torch.float64)
    convolve = (F.conv1d, F.conv2d, F.conv3d)[dims - 1]
    for stride, padding, dilation in ((1, 0, 1), (2, 1, 1), (1, 2, 2), (1, "same", 2), (3, "valid", 1)):
        kernel = weight.shape[2:]
        seen = windows(x, kernel, stride, paddings(padding, kernel, dilation), dilation)
        out = torch.einsum("gmp,ngpq->ngmq", weight.view(2, 3, -1), seen.unflatten(1, (2, -1))).flatten(1, 2)
        assert same(out, convolve(x, weight, None, stride, padding, dilation, 2).flatten(2), 1e-12)


def test_sizes_that_are_equal_by_chance_do_not_deceive():
    module, _, _ = made("attention")
    x = batch(5, WORDS)  # as many points as words
    assert exact(module, x)
    assert math.prod(x.shape[:1]) == WORDS[0]
    assert layers.Layout(1, 1, 6, 5) in gradient_of(module, x)._layouts
