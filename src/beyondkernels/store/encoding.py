"""Outcomes as bytes and back, exactly, and never with pickle."""

from __future__ import annotations

import io
import math
import zipfile
from typing import TYPE_CHECKING, Any, cast

from beyondkernels.core.contracts import Outcome
from beyondkernels.core.errors import InputError, require, shown
from beyondkernels.store.documents import MOST_TEXT, parsed
from beyondkernels.store.errors import DamagedError
from beyondkernels.store.keys import canonical

_END_LENGTH, _LOCATOR_LENGTH = 22, 20  # bytes, by the format's definition

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np


def encode_result(outcome: Outcome) -> bytes:
    """Status and scalars; numbers that are not finite become the strings ``nan``, ``inf`` and ``-inf``."""
    scalars = {_name(name): _number(name, value) for name, value in outcome.scalars.items()}
    return canonical({"status": outcome.status, "scalars": scalars})


def decode_result(content: bytes) -> tuple[Any, dict[str, float]]:
    """The inverse of :func:`encode_result`: status and scalars."""
    data = parsed(content, "result.json")
    if data["status"] not in ("finished", "diverged"):
        raise DamagedError(f"result.json has the status {str(data['status'])[:80]!r}, a run is finished or diverged")
    return data["status"], {name: float(value) for name, value in data["scalars"].items()}


def encode_arrays(outcome: Outcome) -> bytes:
    """Series and arrays as one uncompressed .npz archive, sorted by name, so that equal outcomes are equal bytes."""
    import numpy as np

    named = {**_named("series", outcome.series), **_named("arrays", outcome.arrays)}
    for name, array in named.items():
        # Objects would need pickle, and whoever reads pickles runs the code of whoever wrote them.
        require(not array.dtype.hasobject, f"{name} holds Python objects, only arrays of numbers can be stored")
        require(array.dtype.names is None, f"{name} holds records, only arrays of numbers can be stored")
    buffer = io.BytesIO()
    np.savez(buffer, **cast("Any", {name: named[name] for name in sorted(named)}))
    return buffer.getvalue()


def decode_arrays(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The inverse of :func:`encode_arrays`: series and arrays.

    Nothing unfolds to more than the archive's size: members are stored as they are, do not overlap, and hold as many
    bytes as their shape says.
    """
    _require_small_directory(content)
    parts: dict[str, dict[str, np.ndarray]] = {"series": {}, "arrays": {}}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        # A few compressed kilobytes can unfold to all of the memory.
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise DamagedError("arrays.npz is compressed, which no store writes")
        # Members that share bytes are the other way to make a small archive unfold to a large one.
        if sum(max(member.file_size, member.compress_size) for member in members) > len(content):
            raise DamagedError("arrays.npz has members that overlap")
        for member in members:
            part, _, name = member.filename.removesuffix(".npy").partition("/")
            if name in parts[part]:
                raise DamagedError(f"arrays.npz holds {part}/{name[:80]} twice")
            parts[part][name] = _array(archive, member)
    return parts["series"], parts["arrays"]


def _require_small_directory(content: bytes) -> None:
    """Ask that the list of members, which becomes an object for each, is small; it ends the archive."""
    end, before = content[-_END_LENGTH:], content[-_END_LENGTH - _LOCATOR_LENGTH : -_END_LENGTH]
    if not end.startswith(b"PK\x05\x06") or before.startswith(b"PK\x06\x07"):  # the second is for huge archives
        raise DamagedError("arrays.npz does not end as an archive of a store does")
    if int.from_bytes(end[12:16], "little") > MOST_TEXT:
        raise DamagedError("arrays.npz lists more members than a run has")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    from numpy.lib import format as npy

    with archive.open(member) as file:
        readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        shape, _, dtype = readers[npy.read_magic(file)](file)
        if not dtype.hasobject and math.prod(shape) * dtype.itemsize != member.file_size - file.tell():
            raise DamagedError(f"arrays.npz holds {member.filename[:80]} in another size than its shape")
    with archive.open(member) as file:
        return npy.read_array(file, allow_pickle=False)  # which refuses Python objects


def _named(part: str, arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    import numpy as np

    return {f"{part}/{_name(name)}": np.asarray(array) for name, array in arrays.items()}


def _name(name: object) -> str:
    require(isinstance(name, str) and name != "" and name.isprintable(), f"{name!r} cannot name a result")
    return cast("str", name)


def _number(name: str, value: Any) -> float | str:
    try:
        number = float(value)
        # A whole number beyond 2⁵³ or a fraction would come back as another number than was stored.
        exact = number == value or math.isnan(number)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        number, exact = math.nan, False
    if not exact:
        raise InputError(f"the scalar {name} must be a number that a float holds, got {shown(value)}")
    return number if math.isfinite(number) else repr(number)
