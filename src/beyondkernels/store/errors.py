"""What a store does not hold, and what is wrong with what it holds."""

from __future__ import annotations

from beyondkernels.core.errors import InputError


class MissingRunError(InputError):
    """A run is not in the store, or was damaged and has been put aside: compute it again."""


class DamagedError(Exception):
    """A stored file is not what was written; the message says which and how."""


class UnreadableError(DamagedError):
    """A stored file is not there, or the disk cannot read it at the moment."""
