"""Which code is at work: a commit does not say it while files are being edited."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import ModuleType

from beyondkernels.core.components import USER_MODULES
from beyondkernels.store.keys import canonical, checksum

_ENDINGS = (".py", ".cpp", ".h")
_PACKAGE = Path(__file__).resolve().parents[1]


def code_checksum() -> str:
    """A checksum of this package and of all files a user has loaded; every file is read once in a process.

    Files that a run does not need count too: where they differ, it begins anew, which is safe.
    """
    # Sorted, because the order of loading does not matter and may differ between processes.
    loaded = [module for name, module in sorted(sys.modules.items()) if name.startswith(f"{USER_MODULES}.")]
    return checksum(canonical([_package_checksum(), *(_module_checksum(module) for module in loaded)]))


def files_checksum(folder: Path) -> str:
    """A checksum of the names and contents of all code in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in _ENDINGS)
    # Names with the contents: a file that is only renamed may be imported as something else.
    return checksum(canonical([[path.relative_to(folder).as_posix(), checksum(path.read_bytes())] for path in files]))


@functools.cache
def _package_checksum() -> str:
    return files_checksum(_PACKAGE)


@functools.cache  # a file that is loaded anew is another module
def _module_checksum(module: ModuleType) -> str:
    return checksum(Path(module.__file__ or "").read_bytes())
