"""Keys of runs: a hash of the canonical JSON of a run's description."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from beyondkernels.core.errors import InputError, require, shown

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
    """The key of the run that a description (``core.describe(spec)``) belongs to: 32 hexadecimal digits."""
    # 128 bits: runs would have to be counted in billions of billions before two shared a key by chance.
    return checksum(canonical(description))[:32]


def is_key(text: str) -> bool:
    """Whether a text can be a run's key.

    >>> is_key("0" * 32), is_key("../secret")
    (True, False)
    """
    return _KEY.fullmatch(text) is not None


def require_key(text: str) -> None:
    """Ask for a run's key."""
    require(is_key(text), f"a run's key is 32 hexadecimal digits, got {shown(text)}")
