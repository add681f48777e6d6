"""Networks made from a ``torch.nn.Module``, and networks as a ``torch.nn.Module``."""

from __future__ import annotations

import contextlib
import functools
import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import torch
from torch.nn.utils.parametrize import is_parametrized

from beyondkernels.core import InputError, Shape, Stream, Tensors, later, require, seeded_globally, shape_of, shown
from beyondkernels.core.streams import seeded_by
from beyondkernels.data.named_inputs import NamedInput
from beyondkernels.networks.base import Network
from beyondkernels.networks.blocks import HEAD, Block, BlockNames, merged, parameters_of, unlinked
from beyondkernels.networks.functional_call import Slots, called, tied_names
from beyondkernels.networks.hooks import calls_of, inputs_of
from beyondkernels.networks.last_layer import entering_last, last_linear
from beyondkernels.networks.module_blocks import named_blocks, tree_blocks
from beyondkernels.networks.module_tensors import filled, refilled

ModuleFactory = Callable[[Any, int], torch.nn.Module]
"""Makes a module from (in_dim, out_dim), where in_dim is the shape of points that are no vectors."""

_SIZE = "out_dim"
"""An empty buffer that carries out_dim in its shape: a network's ``apply`` is not told."""


_DRAWS = "forward_draws"
"""A buffer with the seed of the random numbers of a training pass, and with how many passes there were."""


_NORMALISING = (
    torch.nn.modules.batchnorm._NormBase,  # noqa: SLF001 - the base of batch and instance normalisation
    torch.nn.LayerNorm,
    torch.nn.GroupNorm,
    torch.nn.RMSNorm,
)


class ModuleNetwork(Network):
    """A network around a user's module; a subclass says where the module comes from.

    Parameters that do not require a gradient stay as they are: they are among the buffers.

    The module's constructor and its training passes (dropout) draw from torch's global generator. That generator is
    seeded from the run's stream for each call, and put back afterwards.
    """

    revision: ClassVar[int] = 2  # 2: gradients by autograd, optimisers in place, evaluated in blocks of 64 points
    batching: ClassVar[Literal["vmapped", "sequential"]] = "sequential"
    structured: ClassVar[bool] = False

    name: str
    parts: Mapping[str, tuple[str, ...]]
    blocks: tuple[Block, ...]
    output: str | int | None
    inputs: tuple[NamedInput, ...]

    @abstractmethod
    def fresh(self, in_dim: Shape, out_dim: int, stream: Stream) -> torch.nn.Module:
        """A module with initial values of its own."""

    @abstractmethod
    def skeleton(self, in_dim: Shape, out_dim: int) -> torch.nn.Module:
        """The module without its numbers, which each call supplies."""

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        self.skeleton(in_dim, out_dim)  # a constructor cannot run while a gradient is taken, so it runs here
        module = self.fresh(in_dim, out_dim, stream)
        params = {name: value.detach().clone() for name, value in module.named_parameters() if value.requires_grad}
        require(len(params) > 0, f"{self.name} has no parameter that requires a gradient, so there is nothing to train")
        still = [(name, value) for name, value in module.named_parameters() if not value.requires_grad]
        buffers = {name: value.detach().clone() for name, value in (*still, *module.named_buffers())}
        seed = stream.child("forward").integers(2**62).reshape(1)
        draws = {_DRAWS: torch.cat([seed, torch.zeros(1, dtype=torch.int64)])}
        return params, buffers | {_SIZE: torch.empty(out_dim, 0)} | draws

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        """The module's output; buffers are replaced, never changed in place."""
        after = dict(buffers)
        return self._call(params, after, x, train), after

    def _call(self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool) -> torch.Tensor:
        """The module's output, with new buffers put in place of the given ones, also if a hook ends the call."""
        slots = self._slots(shape_of(tuple(x.shape[1:])), buffers[_SIZE].shape[-2])
        if slots.module.training != train:
            slots.module.train(train)
        own = {name: value.clone() for name, value in buffers.items() if name not in (_SIZE, _DRAWS)}
        buffers |= own
        params = {name: value for name, value in params.items() if not name.startswith(HEAD)}
        with self._seeded(buffers, train), slots.filled(params | own) as found:
            try:
                out = called(slots.module, x, self.inputs, self.output, self.name)
            except SystemExit as error:
                raise InputError(f"{self.name} ends the process in its forward: sys.exit({error.code})") from error
            except Exception as error:
                error.__dict__.setdefault("raised_by_model", self.name)  # for the sentence that a user is told
                raise
        buffers |= found
        return out[:, None] if out.ndim == 1 else out  # labels have columns: (n,) would be broadcast against (n, 1)

    def _slots(self, in_dim: Shape, out_dim: int) -> Slots:
        """The places in the module for its numbers."""
        skeleton = self.skeleton(in_dim, out_dim)
        kept = self.__dict__.get("_kept_slots")
        if kept is None or kept.module is not skeleton:
            kept = Slots(skeleton, tied_names(skeleton))
            object.__setattr__(self, "_kept_slots", kept)
        return kept

    @contextlib.contextmanager
    def _seeded(self, buffers: Tensors, train: bool) -> Iterator[None]:
        """Seed what a training pass draws by the number of the pass, and count it."""
        if not train or _DRAWS not in buffers or buffers[_DRAWS].is_meta:  # without numbers nothing is drawn
            yield
            return
        seed, passes = buffers[_DRAWS].tolist()
        buffers[_DRAWS] = buffers[_DRAWS] + _one_pass(buffers[_DRAWS].device)
        with seeded_by(seed + passes, everywhere=buffers[_DRAWS].device.type != "cpu"):
            yield

    def weights(self, in_dim: Shape, out_dim: int) -> dict[str, bool]:
        module = self.skeleton(in_dim, out_dim)
        normalising = {
            f"{prefix}.{name}" if prefix else name
            for prefix, part in module.named_modules()
            if isinstance(part, _NORMALISING)
            for name, _ in part.named_parameters(recurse=False)
        }
        free = [(name, value) for name, value in module.named_parameters() if value.requires_grad]
        return {name: value.ndim > 1 and name not in normalising for name, value in free}

    def as_module(self, params: Tensors, buffers: Tensors, in_dim: Shape) -> torch.nn.Module:
        """The user's module with these numbers in it, ready to predict.

        Arguments:
            params: its parameters.
            buffers: its buffers, with what ``init`` has added.
            in_dim: the dimension of an input, or its shape.
        """
        numbers = {name: value.detach().cpu().clone() for name, value in (params | buffers).items()}
        return self._with(numbers, in_dim, buffers[_SIZE].shape[-2]).eval()

    def _with(self, numbers: Tensors, in_dim: Shape, out_dim: int) -> torch.nn.Module:
        """A module of its own with these numbers in it."""
        return filled(self.skeleton(in_dim, out_dim), numbers)

    def features(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> torch.Tensor:
        module, path = self._module(buffers, x), self._last_linear(params, buffers, x)
        h = entering_last(module, path, lambda: self.apply(params, buffers, x)[0])
        return h if module.get_submodule(path).bias is None else torch.cat([h, h.new_ones(len(h), 1)], 1)

    def last_layer(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> tuple[str, ...]:
        module, path = self._module(buffers, x), self._last_linear(params, buffers, x)
        first = tied_names(module)
        own = dict.fromkeys(first[name] for name in first if not path or name.startswith(f"{path}."))
        names = tuple(name for name in own if name in params)
        require(len(names) > 0, f"the last layer of {self.name} is frozen")
        leaves = {name: value.detach().requires_grad_(value.is_floating_point()) for name, value in params.items()}
        with torch.enable_grad():
            h = entering_last(module, path, lambda: self.apply(leaves, buffers, x[:2])[0])
        wanted = [leaves[name] for name in names]
        known = torch.autograd.grad(h.sum(), wanted, allow_unused=True) if h.requires_grad else ()
        require(
            all(gradient is None for gradient in known),
            f"the numbers of the last layer of {self.name} are also used before it, as in tied weights",
        )
        return names

    def _last_linear(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> str:
        """The path of the last layer, which depends on the shape of points alone."""
        shape = tuple(x.shape[1:])
        if shape not in self._last_by_shape:
            module, few = self._module(buffers, x), x[:2]
            try:
                with torch.no_grad():
                    found = last_linear(module, lambda: self.apply(params, buffers, few)[0])
            except InputError as error:
                raise InputError(f"{self.name} does not end with a linear layer on vectors: {error}") from None
            self._last_by_shape[shape] = found
        return self._last_by_shape[shape]

    @functools.cached_property
    def _last_by_shape(self) -> dict[tuple[int, ...], str]:
        return {}

    def holds(self, kind: type[torch.nn.Module], buffers: Tensors, x: torch.Tensor) -> bool:
        return any(isinstance(part, kind) for part in self._module(buffers, x).modules())

    def intermediates(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> dict[str, tuple[torch.Tensor, ...]]:
        module = self._module(buffers, x)
        found: dict[str, tuple[torch.Tensor, ...]] = {}

        def keep(name: str) -> Callable[[torch.nn.Module, object, torch.Tensor], None]:
            def hook(_part: torch.nn.Module, _given: object, output: torch.Tensor) -> None:
                found[name] = (*found.get(name, ()), output)

            return hook

        hooks = [
            part.register_forward_hook(keep(name))
            for name, part in module.named_modules()
            if next(part.parameters(recurse=False), None) is not None
        ]
        try:
            self.apply(params, buffers, x)
        finally:
            for hook in hooks:
                hook.remove()
        return found

    def named_blocks(self, blocks: BlockNames, params: Tensors, buffers: Tensors, x: torch.Tensor) -> tuple[Block, ...]:
        """The blocks that a user has named: see :func:`~beyondkernels.networks.with_blocks`."""
        found = named_blocks(self._module(buffers, x), self._calls(params, buffers, x), blocks)
        for i in unlinked(self, found, params, buffers, x):
            here, after = found[i].name, found[i + 1].name
            require(False, f"block {after!r} is not computed from block {here!r}; one block that holds both would do")
        return _free(found, params)

    def _found_blocks(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> tuple[Block, ...]:
        if self.blocks:
            return self.blocks
        found = tree_blocks(self._module(buffers, x), self._calls(params, buffers, x))
        while apart := unlinked(self, found, params, buffers, x):
            found = merged(found, apart[0])
        return _free(found, params)

    def _calls(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> list[str]:
        with calls_of(self._module(buffers, x)) as calls, torch.no_grad():
            self.apply(params, buffers, x)
        return calls

    def entering(
        self, entries: Sequence[str], params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[tuple[torch.Tensor, ...], Tensors]:
        """What enters some blocks. In a training pass the buffers of the modules called before are updated."""
        after = dict(buffers)
        with inputs_of(self._module(buffers, x), entries) as found:
            self._call(params, after, x, train)
        return tuple(found[entry] for entry in entries), after

    def _module(self, buffers: Tensors, x: torch.Tensor) -> torch.nn.Module:
        return self.skeleton(shape_of(tuple(x.shape[1:])), buffers[_SIZE].shape[-2])

    @property
    def footprint(self) -> int:
        """Zero: it cannot be known for a user's module, and modules do not train in ensembles."""
        return 0

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The blocks, the last one as ``last`` and the others as ``hidden``, and the groups given as ``parts``."""
        if not self.blocks:
            return self.parts
        *hidden, last = self.blocks
        groups = {"last": last.parameters} | ({"hidden": parameters_of(hidden)} if hidden else {})
        return groups | {block.name: block.parameters for block in self.blocks} | dict(self.parts)


@dataclass(frozen=True)
class FromModule(ModuleNetwork):
    """A network around the module that a function makes.

    Arguments:
        factory: a named, importable function of (in_dim, out_dim) that makes the module. It is given the dimension of
            points that are vectors, and the shape of others, such as (3, 32, 32) for images: the module takes points
            as they are.
        name: what to call it in tables.
        parts: named groups of parameters, each a tuple of parameter names of the module.
        blocks: its blocks, as :func:`~beyondkernels.networks.with_blocks` sets them.
        output: which of several outputs of the module is meant: a key, an attribute or a place.
        inputs: the named arrays that points are packed from, where the module takes several.
    """

    factory: ModuleFactory
    name: str
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    blocks: tuple[Block, ...] = later(())
    output: str | int | None = later(None)
    inputs: tuple[NamedInput, ...] = later(())

    def __post_init__(self) -> None:
        require(
            not isinstance(self.factory, torch.nn.Module),
            "factory must be a function of (in_dim, out_dim) that makes the module, got a module; "
            "FromCopy.of(module) takes one",
        )
        _require_takes_sizes(self.factory)

    def fresh(self, in_dim: Shape, out_dim: int, stream: Stream) -> torch.nn.Module:
        with seeded_globally(stream):
            return self.factory(in_dim, out_dim)

    def skeleton(self, in_dim: Shape, out_dim: int) -> torch.nn.Module:
        # Kept for this network alone: a notebook may change what the function reads before it asks for another.
        if (in_dim, out_dim) not in self._skeletons:
            self._skeletons[in_dim, out_dim] = _skeleton(self.factory, in_dim, out_dim)
        return self._skeletons[in_dim, out_dim]

    @functools.cached_property
    def _skeletons(self) -> dict[tuple[Shape, int], torch.nn.Module]:
        return {}

    def __deepcopy__(self, memo: object) -> FromModule:
        return replace(self)  # without what it has made: the function makes another

    def _with(self, numbers: Tensors, in_dim: Shape, out_dim: int) -> torch.nn.Module:
        """A copy of the skeleton with these numbers or, where it cannot be copied, another that the function makes."""
        try:
            return super()._with(numbers, in_dim, out_dim)
        except InputError:
            with torch.device("cpu"):
                made = self.fresh(in_dim, out_dim, Stream(0))
            return refilled(made, numbers)


def _require_takes_sizes(factory: Any) -> None:
    try:
        inspect.signature(factory).bind(1, 1)
    except TypeError as error:
        got = getattr(factory, "__name__", shown(factory))
        raise InputError(
            f"factory must be a function of (in_dim, out_dim) that makes the module, got {got}: {error}"
        ) from None
    except ValueError:
        return  # a function that is written in C may not say what it takes


def _skeleton(factory: ModuleFactory, in_dim: Shape, out_dim: int) -> torch.nn.Module:
    """The module without its numbers, which each call supplies."""
    # a constructor that reads a number, such as the rates of a linspace, needs numbers
    with contextlib.suppress(RuntimeError), torch.device("meta"):
        module = factory(in_dim, out_dim)
        if not any(map(is_parametrized, module.modules())):  # these leave out buffers where there are no numbers
            return module
    with torch.device("cpu"), seeded_globally(Stream(0)):
        module = factory(in_dim, out_dim)
    named = (*module.named_parameters(), *module.named_buffers())
    try:
        return filled(module, {name: value.detach().to("meta") for name, value in named})
    except InputError:
        return module  # a call supplies other numbers also where there are some


def _free(blocks: tuple[Block, ...], params: Tensors) -> tuple[Block, ...]:
    """The blocks with the parameters that are trained."""
    kept = [tuple(name for name in block.parameters if name in params) for block in blocks]
    return tuple(replace(block, parameters=names) for block, names in zip(blocks, kept, strict=True))


@functools.cache
def _one_pass(device: torch.device) -> torch.Tensor:
    """What a pass adds to the buffer of draws."""
    return torch.tensor([0, 1], device=device)


class NetworkModule(torch.nn.Module):
    """Any network of the package as a module with its own parameters.

    Arguments:
        network: the architecture.
        in_dim: the dimension of an input, or its shape.
        out_dim: the dimension of a prediction.
        stream: where the initial parameters come from.
    """

    def __init__(self, network: Network, in_dim: Shape, out_dim: int, stream: Stream) -> None:
        super().__init__()
        self.network = network
        params, buffers = network.init(in_dim, out_dim, stream)
        self._params = {name: torch.nn.Parameter(value) for name, value in params.items()}
        for name, value in self._params.items():
            self.register_parameter(name.replace(".", "_"), value)
        self._buffer_names = tuple(buffers)
        for name, value in buffers.items():
            self.register_buffer(name.replace(".", "_"), value)

    def load(self, params: Tensors, buffers: Tensors) -> None:
        """Take over the numbers of a network that was trained."""
        with torch.no_grad():
            for name, value in params.items():
                getattr(self, name.replace(".", "_")).copy_(value)
        for name, value in buffers.items():
            setattr(self, name.replace(".", "_"), value.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        params = {name: getattr(self, name.replace(".", "_")) for name in self._params}
        buffers = {name: getattr(self, name.replace(".", "_")) for name in self._buffer_names}
        out, after = self.network.apply(params, buffers, x, self.training)
        for name, value in after.items():
            setattr(self, name.replace(".", "_"), value.detach())
        return out
