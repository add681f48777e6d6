"""Which code is a library's: in every kind of environment, and not by its name."""

import importlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import types

import pytest

from beyondkernels.core.libraries import is_of_a_library


def test_a_package_named_like_one_of_pythons_is_the_users(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "queue.py"
    file.write_text("def f(x):\n    return x\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("queue", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not is_of_a_library(module)
    assert is_of_a_library(importlib.import_module("queue"))


@pytest.mark.parametrize("papers", ["top_level.txt", "RECORD", ""])
def test_a_library_in_a_folder_of_its_own(tmp_path: pathlib.Path, papers: str) -> None:
    """As PYTHONPATH and ``pip install --target`` have them: known by what the installer left beside them."""
    package = tmp_path / f"lib_{papers[:3].lower()}"
    package.mkdir()
    (package / "__init__.py").write_text("def f(x):\n    return x\n", encoding="utf-8")
    if papers:
        info = tmp_path / "thing-1.0.dist-info"
        info.mkdir()
        line = package.name if papers == "top_level.txt" else f"{package.name}/__init__.py,,"
        (info / papers).write_text(line + "\n", encoding="utf-8")
    module = types.ModuleType(package.name)
    module.__file__ = str(package / "__init__.py")
    assert is_of_a_library(module) == bool(papers)


LAYOUTS = """
import importlib, json, site, sys
from pathlib import Path
from beyondkernels.core.libraries import is_of_a_library
root, found = Path(sys.argv[1]), {}
places = {"pythonpath": root / "path", "pth": root / "linked", "user": Path(site.getusersitepackages()),
    "system": root / "usr" / "lib" / "site-packages", "debian": root / "usr" / "lib" / "python3" / "dist-packages",
    "mine": root / "work"}
for name, place in places.items():
    (place / f"layout_{name}").mkdir(parents=True)
    (place / f"layout_{name}" / "__init__.py").write_text("")
    (place / f"{name}-1.dist-info").mkdir() if name in ("pythonpath", "pth") else None
    if name == "pythonpath":
        (place / f"{name}-1.dist-info" / "RECORD").write_text(f"layout_{name}/__init__.py,,\\n")
    if name == "pth":
        (place / f"{name}-1.dist-info" / "top_level.txt").write_text(f"layout_{name}\\n")
        (root / "venv").mkdir()
        (root / "venv" / "more.pth").write_text(f"{place}\\n")
        site.addsitedir(str(root / "venv"))
    elif name in ("pythonpath", "mine"):
        sys.path.append(str(place))
    else:
        site.addsitedir(str(place))
    importlib.invalidate_caches()
    found[name] = is_of_a_library(importlib.import_module(f"layout_{name}"))
print(json.dumps(found))
"""


def test_libraries_are_known_in_every_kind_of_environment(tmp_path: pathlib.Path) -> None:
    """PYTHONPATH, a .pth file, ``pip install --user``, ``--system-site-packages``, Debian's own folder."""
    environment = {**os.environ, "PYTHONUSERBASE": str(tmp_path / "user")}
    said = subprocess.run(
        [sys.executable, "-c", LAYOUTS, str(tmp_path)], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(said) == {
        **dict.fromkeys(("pythonpath", "pth", "user", "system", "debian"), True),
        "mine": False,
    }


def test_what_this_package_computes_with_is_a_library_also_where_no_installer_put_it(tmp_path: pathlib.Path) -> None:
    module = types.ModuleType("torch.copied")
    module.__file__ = str(tmp_path / "torch" / "copied.py")
    assert is_of_a_library(module)
