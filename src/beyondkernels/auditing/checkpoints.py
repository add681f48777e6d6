"""Weights as people have them: in a module, a state dict or a file; and whether they are those of a fresh start."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from beyondkernels.core import InputError, Stream, Tensors, require, shown
from beyondkernels.networks import FromCopy

GIVEN = "given"
"""What ``weights`` is where a module is audited with the numbers that it has."""

_DRAWS = 8
"""Fresh starts that given weights are compared with."""

_SIGMAS, _SHARE = 20.0, 0.05
"""Given numbers are no fresh draw if a statistic is off those of draws by so many deviations and such a share."""

_MOST_SPECTRAL = 2**20
"""Numbers of a matrix of which the largest singular value is computed."""

_KINDS = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def loaded(module: torch.nn.Module, weights: Any) -> torch.nn.Module:
    """A module with given weights in it: a copy, or the module itself where its own numbers are meant.

    Arguments:
        module: stays as it is.
        weights: ``given`` for the module's own numbers, a state dict, or the path of a file that holds one.
    """
    if isinstance(weights, str) and weights == GIVEN:
        return module
    numbers = weights if isinstance(weights, Mapping) else _read(weights)
    for key in ("state_dict", "model_state_dict", "model"):
        numbers = inner if isinstance(inner := numbers.get(key), Mapping) else numbers
    if numbers and all(str(name).startswith("module.") for name in numbers):  # of DataParallel
        numbers = {name.removeprefix("module."): value for name, value in numbers.items()}
    filled = copy.deepcopy(module)
    try:
        filled.load_state_dict(numbers)
    except (RuntimeError, TypeError, AttributeError) as error:
        why = " ".join(str(error).split())
        raise InputError(f"weights must be a state dict of {type(module).__name__}, got another one: {why}") from None
    return filled


def _read(path: Any) -> Mapping[str, Any]:
    """A state dict from a file, of which no code is run."""
    require(
        isinstance(path, str | Path) and Path(path).is_file(),
        f"weights must be 'given', a state dict or the path of a file that holds one, got {shown(path)}",
    )
    path = Path(path)
    try:
        found = _safetensors(path) if path.suffix == ".safetensors" else torch.load(path, "cpu", weights_only=True)
    except Exception as error:  # whatever is in a file that anybody may have written
        why = str(error).strip().splitlines()[:1]
        raise InputError(f"weights must be a file of tensors alone, got {path.name}: {' '.join(why)}") from None
    require(isinstance(found, Mapping), f"weights must be a file that holds a state dict, got a {type(found).__name__}")
    return found


def _safetensors(path: Path) -> Tensors:
    """The tensors of a file in the format safetensors: the length of a header, the header as JSON, and the numbers."""
    content = bytearray(path.read_bytes())
    length = int.from_bytes(content[:8], "little")
    require(8 + length <= len(content), "its header is longer than the file")
    header = json.loads(content[8 : 8 + length])
    found = {}
    for name, each in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in each["data_offsets"])
        kind, shape = _KINDS[each["dtype"]], tuple(each["shape"])
        require(
            8 + length <= begin <= end <= len(content) and end - begin == math.prod(shape) * kind.itemsize,
            f"{name} lies outside of it",
        )
        # copied, because numbers may begin anywhere in a file and tensors may not
        own = bytearray(content[begin:end])
        found[name] = torch.frombuffer(own, dtype=kind).reshape(shape) if own else torch.zeros(shape, dtype=kind)
    return found


def unlike_fresh(network: FromCopy) -> list[str]:
    """The parameters of a module whose numbers no fresh draw would have, such as those of a trained model.

    Of each parameter the mean, the root mean square, the largest number and the largest singular value are compared
    with those of a few draws. A parameter counts only if one of them is far outside: by 20 standard deviations, and by
    5 % of the root mean square of the draws. So a model at its start is none. A model that was hardly trained
    may be taken for one, and a model whose constructor draws in another way than its ``reset_parameters`` is named.

    Arguments:
        network: around the module.
    """
    own = {name: value for name, value in network.module.named_parameters() if value.requires_grad}
    draws: list[dict[str, list[float]]] = []
    for i in range(_DRAWS):
        fresh = dict(network.fresh(0, 0, Stream(i).child("unlike")).named_parameters())
        draws.append({name: _statistics(fresh[name]) for name in own})
    found = []
    for name, value in own.items():
        known = torch.tensor([draw[name] for draw in draws], dtype=torch.float64)
        size = float(known[:, 1].mean())
        off = (torch.tensor(_statistics(value), dtype=torch.float64) - known.mean(0)).abs()
        if bool((off > _SIGMAS * known.std(0) + _SHARE * size + 1e-6).any()):
            found.append(name)
    return found


def _statistics(value: torch.Tensor) -> list[float]:
    """The mean, the root mean square, the largest number and the largest singular value, by its usual size."""
    numbers = value.detach().double()
    if not numbers.numel():
        return [0.0] * 4
    largest, matrix = float(numbers.abs().max()), numbers.reshape(len(numbers), -1) if numbers.ndim > 1 else None
    size = float(numbers.square().mean().sqrt())
    if matrix is None or matrix.numel() > _MOST_SPECTRAL:
        return [float(numbers.mean()), size, largest, size]
    usual = math.sqrt(matrix.shape[0]) + math.sqrt(matrix.shape[1])
    return [float(numbers.mean()), size, largest, float(torch.linalg.matrix_norm(matrix, 2)) / usual]
