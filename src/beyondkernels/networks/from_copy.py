"""Networks made from a module that exists: copied, and drawn anew for each seed."""

from __future__ import annotations

import copy
import functools
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from beyondkernels.core import Shape, Stream, UncacheableError, later, require, seeded_globally
from beyondkernels.core.errors import warn
from beyondkernels.core.fingerprints import fingerprint
from beyondkernels.data.named_inputs import NamedInput
from beyondkernels.networks.blocks import Block
from beyondkernels.networks.fresh_parameters import (
    draw,
    draw_bare,
    drawn_from_marks,
    draws_all,
    is_bare,
    is_constant,
    moments,
    undrawn,
)
from beyondkernels.networks.module import ModuleNetwork
from beyondkernels.networks.module_tensors import copied, filled

_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
"""Where PyTorch's modules keep the functions that change what a call or its gradient gives."""


class ModelWarning(UserWarning):
    """Something about a model that may change what results mean."""


@dataclass(frozen=True)
class FromCopy(ModuleNetwork):
    """A network around copies of a module.

    Each seed draws all parameters anew: every part of the module that has the method is told to ``reset_parameters``,
    as PyTorch's layers do when they are made. Inner parts come before those that hold them, so that the outermost part
    has the last word. What a constructor did to a part's parameters after it was made is not repeated. A module with
    parameters that no such method draws is refused, unless it starts as it is.
    Parameters that do not require a gradient are neither drawn nor trained: they keep their numbers. So do the buffers
    of a part without other parameters at the start, such as the statistics of a frozen batch normalisation; training
    may move them, as PyTorch does.

    Arguments:
        architecture: a hash of the module's structure, of its parts' code and attributes and of the numbers that are
            kept.
        name: what to call it in tables.
        fresh_start: whether each seed draws all parameters anew; otherwise all start from the module's own.
        parts: named groups of parameters, each a tuple of parameter names of the module.
        module: the module itself, which only this process has.
        blocks: its blocks, as :func:`~beyondkernels.networks.with_blocks` sets them.
        opaque: what in it cannot be read, hooks among it, so that its runs are not stored.
        output: which of several outputs of the module is meant: a key, an attribute or a place.
        inputs: the named arrays that points are packed from, where the module takes several.

    >>> network = FromCopy.of(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)))
    >>> params, _ = network.init(4, 1, Stream(0))
    >>> sorted(params)
    ['0.bias', '0.weight', '2.bias', '2.weight']
    """

    architecture: str
    name: str
    fresh_start: bool = True
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    module: Any = field(default=None, metadata={"identity": False}, repr=False)
    blocks: tuple[Block, ...] = later(())
    opaque: tuple[Any, ...] = later(())
    output: str | int | None = later(None)
    inputs: tuple[NamedInput, ...] = later(())

    brought: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        module: torch.nn.Module,
        *,
        name: str | None = None,
        fresh_start: bool = True,
        parts: Mapping[str, tuple[str, ...]] | None = None,
        output: str | int | None = None,
    ) -> FromCopy:
        """A network around a copy of a module.

        Arguments:
            module: stays as it is.
            name: what to call it in tables; its class unless given.
            fresh_start: whether each seed draws all parameters anew.
            parts: named groups of parameters.
            output: which of several outputs of the module is meant.
        """
        kept = copied(module)
        _require_plain(kept)
        if fresh_start:
            drawn = drawn_from_marks(kept)
            _require_resets(drawn)
            _warn_of_bare(kept, drawn)
            _warn_of_lost(kept, drawn)
        opaque: list[Any] = [hook for part in module.modules() for _, hook in _hooks(part) if _is_opaque(hook)]
        try:
            architecture = _architecture(kept, fresh_start, module)
        except UncacheableError as error:  # it can train all the same; the error comes up where a key is asked for
            architecture, opaque = "", [*opaque, error]
        return cls(
            architecture,
            name or type(module).__name__,
            fresh_start,
            parts or {},
            kept,
            opaque=tuple(opaque),
            output=output,
        )

    def __post_init__(self) -> None:
        require(
            isinstance(self.module, torch.nn.Module),
            "a module is in the process that made it alone; for other processes give a named function that makes it: "
            "FromModule(factory, name)",
        )

    def fresh(self, in_dim: Shape, out_dim: int, stream: Stream) -> torch.nn.Module:
        """A copy, drawn anew unless it starts as it is."""
        made = copy.deepcopy(self.module)
        if self.fresh_start:
            with seeded_globally(stream), torch.no_grad():
                draw(made)
                draw_bare(made, self.module, self._bare)
                drawn = dict((*made.named_parameters(), *made.named_buffers()))
                for name, own in _still(self.module):
                    drawn[name].copy_(own)
        return made

    @functools.cached_property
    def _bare(self) -> tuple[str, ...]:
        return undrawn(drawn_from_marks(self.module))

    def skeleton(self, in_dim: Shape, out_dim: int) -> torch.nn.Module:
        return self._skeleton

    @functools.cached_property
    def _skeleton(self) -> torch.nn.Module:
        named = (*self.module.named_parameters(), *self.module.named_buffers())
        return filled(self.module, {name: value.detach().to("meta") for name, value in named})


def _warn_of_bare(module: torch.nn.Module, drawn: torch.nn.Module) -> None:
    """Name the parameters that are drawn like the numbers they have, unless the model has a rule for them."""
    if any(draws_all(part) for part in module.modules()):
        return
    own = dict(module.named_parameters())
    like = {name: moments(own[name])[1] for name in undrawn(drawn)}
    if spread := {name: value for name, value in like.items() if value}:
        told = ", ".join(f"{name} ({value:g})" for name, value in list(spread.items())[:3])
        warn(
            f"no reset_parameters of {type(module).__name__} draws {told}: each seed draws normal numbers of the "
            "standard deviation in brackets, that of the numbers it has. A method reset_parameters sets another rule",
            ModelWarning,
        )


def _still(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """What keeps its numbers when a module is drawn anew, by name."""
    yield from ((name, value) for name, value in module.named_parameters() if not value.requires_grad)
    yield from _still_buffers(module)


def _still_buffers(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """The buffers of parts with parameters of which none requires a gradient, by name."""
    for name, value in module.named_buffers():
        if not any(each.requires_grad for each in _parameters_beside(module, name.rpartition(".")[0])):
            yield name, value


def _parameters_beside(module: torch.nn.Module, path: str) -> list[torch.nn.Parameter]:
    """The parameters of a part's own or, where it has none, those of the smallest part around it that has some."""
    part = module.get_submodule(path)
    if own := [*part.parameters(recurse=False)] or [*part.parameters()]:
        return own
    return _parameters_beside(module, path.rpartition(".")[0]) if path else []


def _require_plain(module: torch.nn.Module) -> None:
    require(
        not isinstance(module, torch.jit.ScriptModule),
        f"a module that torch.jit compiled does not take other numbers than its own, got {type(module).__name__}; give "
        "the module that was compiled",
    )
    lazy = [
        name
        for name, value in (*module.named_parameters(), *module.named_buffers())
        if torch.nn.parameter.is_lazy(value)
    ]
    require(not lazy, f"the module has lazy parameters such as {lazy[:1]}; run it once on a point before it is given")
    require_numbers(module, f"the module {type(module).__name__}")
    require(
        next(module.parameters(), None) is not None,
        f"the module {type(module).__name__} has no parameters, so there is nothing to train",
    )


def require_numbers(module: torch.nn.Module, name: str) -> None:
    """Ask that a module is on a device where tensors hold numbers.

    Arguments:
        module: the module.
        name: what to call it.
    """
    empty = [each for each, value in (*module.named_parameters(), *module.named_buffers()) if value.is_meta]
    require(
        not empty,
        f"{name} must hold numbers, got {', '.join(empty[:2])} on the device meta, which has none; "
        "to_empty(device='cpu') and reset_parameters() give it some",
    )


def _require_resets(drawn: torch.nn.Module) -> None:
    """Ask that every parameter is drawn anew.

    It is tried, because a part may have the method and not reach its parameters: a weight that a parametrisation
    computes, such as ``weight_norm``, is drawn in vain.
    """
    alone = [name for name in undrawn(drawn) if not is_bare(drawn, name)]
    require(
        not alone,
        f"no reset_parameters draws {', '.join(alone[:3])} of {type(drawn).__name__} anew for each seed; write one, "
        "give a function that makes the module (FromModule), or start from the numbers it has (fresh_start=False)",
    )


def _warn_of_lost(module: torch.nn.Module, drawn: torch.nn.Module) -> None:
    """Warn of weights that a constructor has set, such as to zero, and that each seed draws otherwise."""
    after = dict(drawn.named_parameters())
    weights = [(name, value) for name, value in module.named_parameters() if value.requires_grad and value.ndim > 1]
    lost = [name for name, value in weights if is_constant(value) and not is_constant(after[name])]
    if lost:
        warn(
            f"{', '.join(lost[:3])} of {type(module).__name__} has one number in all places, and each seed draws it "
            "anew by reset_parameters. FromModule(factory, name) keeps what a constructor does, and "
            "FromCopy.of(module, fresh_start=False) keeps the numbers",
            ModelWarning,
        )


def _architecture(module: torch.nn.Module, fresh_start: bool, original: torch.nn.Module) -> str:
    """A hash of what a module computes: its parts, their code and attributes, and the numbers that are kept.

    Arguments:
        module: a copy.
        fresh_start: whether each seed draws all parameters anew.
        original: what was copied, to which functions in the copy may still refer.
    """
    hashed = hashlib.sha256(repr(module).encode())
    of_every_module = {*vars(torch.nn.Module())}
    known = [*_named(module), *_named(original)]
    for name, part in module.named_modules():
        # Much that a layer does is not in its text: the heads of an attention, a scale, a function.
        own = {key: value for key, value in vars(part).items() if key not in of_every_module}
        hashed.update(f"{name} {fingerprint(type(part), own, known=known)}".encode())
        if hooks := [(kind, *_read(hook)) for kind, hook in _hooks(part) if not _is_opaque(hook)]:
            hashed.update(fingerprint(hooks, known=known).encode())
    bare = undrawn(drawn_from_marks(module)) if fresh_start else ()
    for name, value in module.named_parameters():
        if name in bare:
            hashed.update(f"{name} drawn with {moments(value)}".encode())
    drawn = {id(value) for value in module.parameters() if value.requires_grad} if fresh_start else set()
    still = [name for name, value in module.named_parameters() if not value.requires_grad]
    hashed.update(str(still).encode() if still else b"")
    for name, value in (*module.named_parameters(), *module.named_buffers()):
        hashed.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        if id(value) not in drawn:
            hashed.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return hashed.hexdigest()[:32]


def _named(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    yield from module.named_modules()
    yield from module.named_parameters()
    yield from module.named_buffers()


def _hooks(part: torch.nn.Module) -> list[tuple[str, Any]]:
    """The hooks of a part alone, each with its kind, in the order of their calls."""
    found = []
    for kind in _HOOKS:
        with_names = vars(part).get(f"{kind}_with_kwargs", {})
        for number, hook in (vars(part).get(kind) or {}).items():
            found.append((f"{kind} with names" if number in with_names else kind, hook))
    return found


def _read(hook: Any) -> tuple[Any, ...]:
    """A hook, the object whose method it is, and its attributes, also the private ones of a library's hook."""
    inner = _unwrapped(hook)
    return hook, getattr(inner, "__self__", None), getattr(inner, "__dict__", None)


def _is_opaque(hook: Any) -> bool:
    """Whether a hook has code or values that cannot be read."""
    try:
        fingerprint(*_read(hook))
    except Exception:  # a hook is a user's code
        return True
    return False


def _unwrapped(hook: Any) -> Any:
    return _unwrapped(hook.func) if isinstance(hook, functools.partial) else hook
