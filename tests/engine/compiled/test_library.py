"""Compiling: once, in a private place, with sentences when it cannot be done."""

from __future__ import annotations

import os
import platform
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from beyondkernels.core import InputError
from beyondkernels.engine.compiled import available, library


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Iterator[Path]:
    monkeypatch.setenv("BK_CACHE", str(tmp_path / "cache"))
    library.library.cache_clear()
    yield tmp_path / "cache"
    library.library.cache_clear()


def test_compiled_once_into_a_private_directory(cache):
    assert available() is None
    (built,) = cache.iterdir()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    made = built.stat().st_mtime_ns
    library.library.cache_clear()
    assert available() is None
    assert [path.stat().st_mtime_ns for path in cache.iterdir()] == [made]


def test_a_changed_header_is_compiled_anew(cache, tmp_path, monkeypatch):
    """Every source and header counts, by its name and its text."""
    sources, compiler = tmp_path / "sources", tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho "$@" > "$2"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    shutil.copytree(library.SOURCES, sources, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.setattr(library, "SOURCES", sources)
    built = [library._built("descent")]
    assert "descent.cpp" in built[0].read_text()
    changed = ["descent.cpp", *sorted(path.name for path in sources.glob("*.h"))]
    for name in changed:
        (sources / name).write_text((sources / name).read_text() + "// another line\n")
        built.append(library._built("descent"))
    assert len(built) == len(set(built)) == 6
    (sources / "one_pass.cpp").write_text("// something else\n")
    assert library._built("descent") == built[-1]


@pytest.mark.skipif(platform.machine() != "x86_64" or shutil.which("g++") is None, reason="flags of g++ on x86-64")
@pytest.mark.parametrize("name", ["descent", "one_pass"])
def test_no_warning_and_no_instruction_set_by_name(name, cache, monkeypatch):
    monkeypatch.setenv("CXX", "g++")
    strict = ("-O0", "-march=x86-64", "-Wall", "-Wextra", "-Wpedantic", "-Wno-psabi", "-Werror")
    monkeypatch.setattr(library, "FLAGS", (*library.FLAGS, *strict))
    library.library(name)


def test_no_compiler(cache, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    assert "needs a C++ compiler" in str(available())
    with pytest.raises(InputError, match="backend='eager' does without"):
        library.library()


def test_a_compiler_that_fails(cache, tmp_path, monkeypatch):
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'no such flag' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    with pytest.raises(InputError, match=r"broken could not compile the fast step, .*: no such flag"):
        library.library()
    assert list(cache.iterdir()) == []  # nothing half done is left behind


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    tmp_path.chmod(0o500)
    monkeypatch.setenv("BK_CACHE", str(tmp_path / "cache"))
    library.library.cache_clear()
    with pytest.raises(InputError, match="set BK_CACHE to a directory of yours"):
        library.library()


def test_a_cache_that_is_a_file(tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("")
    monkeypatch.setenv("BK_CACHE", str(tmp_path / "cache"))
    library.library.cache_clear()
    with pytest.raises(InputError, match="set BK_CACHE to a directory of yours"):
        library.library()


def test_where_it_is_kept_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("BK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert library.cache_directory() == tmp_path / "beyondkernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert library.cache_directory() == tmp_path / ".cache" / "beyondkernels"
