"""Keys of runs: a hash of the canonical JSON of a run's description."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from beyondkernels.core.errors import InputError, require, shown

WITNESS = 12
"""How many digits of a key are those of a witness."""

_KEY = re.compile(r"[0-9a-f]{32}")


def canonical(data: Any) -> bytes:
    """Plain data as JSON with sorted keys and no spaces, so that equal data are equal bytes.

    >>> canonical({"b": 0.1, "a": [1, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    try:
        # Python writes the shortest digits that give a float back exactly, so equal numbers have equal bytes
        # everywhere.
        return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"only plain JSON data can be stored: {error}") from error


def checksum(content: bytes) -> str:
    """The SHA-256 hash of a file's content, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def key_of(description: Any) -> str:
    """The key of the run that a description (``RunSpec.description``) belongs to: 32 hexadecimal digits.

    Where a user's own code is in the run, the last digits are those of its witness, so that runs of models that are
    described alike lie side by side.
    """
    # 128 bits, or 80: runs would have to be counted in millions of millions before two shared a key by chance.
    plain = isinstance(description, dict) and "witness" in description
    described = {name: part for name, part in description.items() if name != "witness"} if plain else description
    behaviour = description["witness"].get("digest", "")[:WITNESS] if plain else ""
    return checksum(canonical(described))[: 32 - len(behaviour)] + behaviour


def is_key(text: str) -> bool:
    """Whether a text can be a run's key.

    >>> is_key("0" * 32), is_key("../secret")
    (True, False)
    """
    return _KEY.fullmatch(text) is not None


def require_key(text: str) -> None:
    """Ask for a run's key."""
    require(is_key(text), f"a run's key is 32 hexadecimal digits, got {shown(text)}")
