"""Where runs are computed."""

from __future__ import annotations

import re

from beyondkernels.core.errors import InputError, require, shown

PROCESSOR = "cpu"
"""The device that every machine has and every learner computes on."""


def device_name(device: object) -> str:
    """The name of a device, which may be given as a ``torch.device``.

    >>> import torch
    >>> device_name("cpu"), device_name(torch.device("cuda", 1))
    ('cpu', 'cuda:1')
    """
    name = device if isinstance(device, str) or type(device).__module__ != "torch" else str(device)
    require_device_name(name)
    return str(name)


def require_device_name(device: object) -> None:
    """Refuse what is no name of a device, whether or not this machine has it."""
    named = isinstance(device, str) and re.fullmatch(r"[a-z]+(:\d+)?", device) is not None
    require(named, f"device must be a device's name, such as 'cpu' or 'cuda:0', got {shown(device)}")


def require_device(device: str) -> None:
    """Refuse a device that this machine does not have."""
    require_device_name(device)
    if device == PROCESSOR:
        return
    import torch

    try:
        # Trying is the only way to ask that works for every backend, present and future.
        torch.zeros(1, device=device).tolist()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        # Some backends explain themselves on a whole page.
        why = re.split(r"\.\s|\n", f"{error}".strip())[0].removesuffix(".") or type(error).__name__
        raise InputError(
            f"device must be one that this machine has, got {shown(device)} ({why}); bk doctor says what there is"
        ) from None
