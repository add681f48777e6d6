"""The blocks of a module, found in its tree of modules or named by the user."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from torch import nn

from beyondkernels.core import InputError, require, shown, unknown
from beyondkernels.networks.blocks import TOGETHER, Block, BlockNames

_NEARLY_ALL, _MOST = 0.9, 0.5
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
_GROUPS = ("all", "hidden", "last")
"""Groups of parameters that have a meaning of their own."""


def tree_blocks(module: nn.Module, calls: Sequence[str]) -> tuple[Block, ...]:
    """The blocks in a module's tree, by the rule of :func:`~beyondkernels.networks.find_blocks`.

    Arguments:
        module: the module.
        calls: the paths of its parts in the order of their calls.
    """
    known, claims = [name for name, _ in module.named_parameters()], {}
    for path in _units(module, "", _count(module)):
        inside = tuple(name for name in known if _within(name, path))
        if inside and _times(calls, path):
            claims[path] = ([path], inside)
    claims = claims or {"": ([""], tuple(known))}
    chain = _ordered(claims, calls)
    i = 0
    while i + 1 < len(chain):
        if _last_call(chain[i], claims, calls) > _first_call(claims[chain[i + 1]][0], calls):
            paths, inside = claims.pop(chain.pop(i + 1))
            claims[chain[i]] = (claims[chain[i]][0] + paths, claims[chain[i]][1] + inside)
        else:
            i += 1
    named = {path: _plain_name(claims[path][0], module, path == chain[-1], len(chain)) for path in chain}
    return _completed({named[path]: claims[path] for path in chain}, known, calls)


def named_blocks(module: nn.Module, calls: Sequence[str], blocks: BlockNames) -> tuple[Block, ...]:
    """The blocks that a user has named.

    Arguments:
        module: the module.
        calls: the paths of its parts in the order of their calls.
        blocks: paths of modules, or names with paths of modules and names of parameters.
    """
    require(len(blocks) > 0 and not isinstance(blocks, str), f"blocks must name some modules, got {shown(blocks)}")
    wanted = blocks if isinstance(blocks, Mapping) else {_sign_free(path): path for path in blocks}
    known = [name for name, _ in module.named_parameters()]
    claims: dict[str, tuple[list[str], tuple[str, ...]]] = {}
    for name, members in wanted.items():
        require(not re.search("[+-]", name), f"the name of a block must have no + and no -, got {shown(name)}")
        paths, inside = _claimed(module, known, (members,) if isinstance(members, str) else tuple(members))
        require(len(inside) > 0, f"block {shown(name)} must have parameters, got {shown(members)}, which has none")
        require(_times(calls, *paths) > 0, f"block {shown(name)} is never called when the module predicts")
        for other, (_, theirs) in claims.items():
            both = [parameter for parameter in inside if parameter in theirs]
            require(
                not both, f"blocks must have no parameter in common, got {shown(both[:1])} in {other!r} and {name!r}"
            )
        claims[name] = (paths, inside)
    chain = _ordered(claims, calls)
    for here, after in itertools.pairwise(chain):
        require(
            _last_call(here, claims, calls) < _first_call(claims[after][0], calls),
            f"blocks must be called one after the other, but {here!r} is called again after {after!r}; one block that "
            f"holds both would do: {{{here!r}: {(*claims[here][0], *claims[after][0])}}}",
        )
    for name in chain:
        meant = _is_meant(name, name == chain[-1], len(chain))
        require(meant, f"{name!r} is the name of another group of parameters, so that no such block can have it")
    return _completed({name: claims[name] for name in chain}, known, calls)


def _units(module: nn.Module, path: str, total: int) -> list[str]:
    """The paths of the children with parameters of an opened module, but for normalisation."""
    found = []
    for name, child in module.named_children():
        inner = f"{path}.{name}" if path else name
        if _opens(child, total):
            found += _units(child, inner, total)
        elif _count(child) and not ("norm" in type(child).__name__.lower() and not [*child.children()]):
            found.append(inner)
    return found


def _opens(child: nn.Module, total: int) -> bool:
    own, inner = _count(child), [*child.children()]
    if _is_container(child):
        return True
    if any(isinstance(part, nn.ModuleList) and _count(part) >= _NEARLY_ALL * own for part in inner if own):
        return True
    held = sum(_count(part) for part in inner if _is_container(part))
    most = own >= _NEARLY_ALL * total and held > _MOST * own
    return most or (own == total > 0 and sum(_count(part) > 0 for part in inner) > 1)


def _is_container(module: nn.Module) -> bool:
    return any(isinstance(module, kind) and type(module).forward is kind.forward for kind in _CONTAINERS)


def _count(module: nn.Module) -> int:
    return sum(value.numel() for value in module.parameters())


def _within(name: str, path: str) -> bool:
    return not path or name == path or name.startswith(f"{path}.")


def _times(calls: Sequence[str], *paths: str) -> int:
    return sum(any(_within(call, path) for path in paths) for call in calls)


def _entry(paths: Sequence[str], calls: Sequence[str]) -> str:
    return next(call for call in calls if any(_within(call, path) for path in paths))


def _first_call(paths: Sequence[str], calls: Sequence[str]) -> int:
    return calls.index(_entry(paths, calls))


def _last_call(name: str, claims: Mapping[str, tuple[list[str], tuple[str, ...]]], calls: Sequence[str]) -> int:
    return max(i for i, call in enumerate(calls) if any(_within(call, path) for path in claims[name][0]))


def _ordered(claims: Mapping[str, tuple[list[str], tuple[str, ...]]], calls: Sequence[str]) -> list[str]:
    return sorted(claims, key=lambda name: _first_call(claims[name][0], calls))


def _claimed(module: nn.Module, known: list[str], members: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """The modules and the parameters that a block is said to hold."""
    parts, paths, inside = dict(module.named_modules()), [], []
    for member in members:
        if member not in parts and member not in known:
            unknown("module or parameter in blocks", str(member), [*(path for path in parts if path), *known])
        paths.append(member if member in parts else member.rpartition(".")[0])
        inside += [name for name in known if _within(name, member) and name not in inside]
    return paths, tuple(inside)


def _completed(
    claims: Mapping[str, tuple[list[str], tuple[str, ...]]], known: Sequence[str], calls: Sequence[str]
) -> tuple[Block, ...]:
    """Blocks in which every parameter has its place: one that no block claims belongs to the block called before it."""
    chain = [*claims]
    starts = [_first_call(claims[name][0], calls) for name in chain]
    entries = [_entry(claims[name][0], calls) for name in chain]
    of = {parameter: i for i, name in enumerate(chain) for parameter in claims[name][1]}
    before = 0
    for parameter in known:
        owner = parameter.rpartition(".")[0]
        if parameter not in of and _times(calls, owner) and owner:
            at = _first_call([owner], calls)
            before = max((i for i, start in enumerate(starts) if start <= at), default=0)
            if at < starts[0]:  # a normalisation of the points themselves: the first block begins with it
                starts[0], entries[0] = at, _entry([owner], calls)
        elif parameter not in of and not owner:
            before = 0  # of the module itself, which is called before all of its parts
        before = of.setdefault(parameter, before)
    return tuple(
        Block(name, tuple(parameter for parameter in known if of[parameter] == i), entries[i])
        for i, name in enumerate(chain)
    )


def _sign_free(path: str) -> str:
    """A path without the signs that put groups of parameters together."""
    if not isinstance(path, str):
        raise InputError(f"blocks must hold paths of modules, such as 'features.0', got {shown(path)}")
    return re.sub("[+-]", "_", path)


def _plain_name(paths: Sequence[str], module: nn.Module, final: bool, blocks: int) -> str:
    """The name of a block: the paths of its parts, or the class of a module that is one block."""
    name = TOGETHER.join(map(_sign_free, paths)) or type(module).__name__
    return name if _is_meant(name, final, blocks) else f"{name}_block"


def _is_meant(name: str, final: bool, blocks: int) -> bool:
    """Whether a block may have a name: that of a group alone if it is this group."""
    return name not in _GROUPS or (name == "last" and final) or (name == "hidden" and blocks == 2 and not final)
