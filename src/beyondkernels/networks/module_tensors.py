"""Modules with other tensors in them, as copies or in place."""

from __future__ import annotations

import copy
from typing import Any

import torch

from beyondkernels.core import InputError, Tensors


def copied(module: torch.nn.Module, known: dict[int, Any] | None = None) -> torch.nn.Module:
    """A copy of a module. One that cannot be copied is refused.

    Arguments:
        module: stays as it is.
        known: what is put in place of objects in the module, by their ids.
    """
    try:
        return copy.deepcopy(module, known)
    except Exception as error:  # a module is a user's code
        raise InputError(
            f"the module {type(module).__name__} cannot be copied ({error}); FromModule takes a function that makes it"
        ) from None


def filled(module: torch.nn.Module, tensors: Tensors) -> torch.nn.Module:
    """A copy of a module with other tensors in it. Parameters that several parts share stay shared.

    Arguments:
        module: its own tensors are not copied.
        tensors: those of the copy, by the names of the module's parameters and buffers.
    """
    known: dict[int, Any] = {  # ``to`` would give every part its own
        id(value): torch.nn.Parameter(tensors[name], value.requires_grad) for name, value in module.named_parameters()
    }
    known |= {id(value): tensors[name] for name, value in module.named_buffers()}
    return copied(module, known)


def refilled(module: torch.nn.Module, tensors: Tensors) -> torch.nn.Module:
    """A module itself with other tensors in it, on the device where its own were.

    Arguments:
        module: is changed.
        tensors: by the names of the module's parameters and buffers.
    """
    for name, value in (*module.named_parameters(), *module.named_buffers()):
        value.data = tensors[name]
    return module
