"""Compiling: once, in a private place, again when something is wrong with it, with sentences when it cannot be done."""

import os
import platform
import shutil
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from beyondkernels.engine.compiled import available, cache, compiler, library
from refusals import refused

REAL = compiler.find_compiler()
pytestmark = pytest.mark.skipif(REAL is None, reason="there is no C++ compiler here")


@pytest.fixture
def real_sources(tmp_path, monkeypatch) -> Iterator[Path]:
    """An empty cache, where what is compiled is what users compile."""
    monkeypatch.setenv("BK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    library.library.cache_clear()
    yield tmp_path / "cache"
    library.library.cache_clear()


@pytest.fixture
def place(real_sources, tmp_path, monkeypatch) -> Path:
    """An empty cache, and sources that are compiled in no time."""
    sources = tmp_path / "sources"
    sources.mkdir()
    for name in ("descent", "one_pass"):
        (sources / f"{name}.cpp").write_text(f'extern "C" long bk_{name}() {{ return 7; }}\n')
    monkeypatch.setattr(library, "SOURCES", sources)
    return real_sources


def loaded_again(name: str = "one_pass") -> str:
    """Look for a library as a new process would, and return the path it was loaded from."""
    library.library.cache_clear()
    return library.library(name)._name


def process(place: Path) -> subprocess.Popen[bytes]:
    """A new process that loads a library and calls it."""
    code = (
        "from pathlib import Path; from beyondkernels.engine.compiled import library\n"
        f"library.SOURCES = Path({str(library.SOURCES)!r})\n"
        "assert library.library('one_pass').bk_one_pass(*[None] * 12, 0, 0, 0, 0, 0, None) == 7"
    )
    variables = {**os.environ, "BK_CACHE": str(place), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-W", "error", "-c", code], env=variables)


def without_compiler(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)


def pretended(tmp_path: Path, version: str, monkeypatch) -> None:
    """A compiler that says it has a version, and leaves the work to the real one."""
    assert REAL is not None
    script = tmp_path / "wrapped"
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo {version} && exit\nexec {REAL.path} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))


def make_foreign(path: Path, monkeypatch) -> None:
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
    else:
        owner = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)


def planted(directory: Path, tmp_path: Path) -> Path:
    """A library that leaves a mark when it is loaded, with a name under which it would be found."""
    directory.mkdir(parents=True, exist_ok=True)
    source, built = tmp_path / "planted.cpp", tmp_path / "planted.so"
    source.write_text(
        "#include <cstdio>\n"
        f'__attribute__((constructor)) static void mark() {{ std::fclose(std::fopen("{tmp_path}/mark", "w")); }}\n'
        'extern "C" long bk_one_pass() { return 0; }\n'
    )
    assert REAL is not None
    REAL.compile(source, built)
    target = directory / f"one_pass-{library.source_digest('one_pass')}-{REAL.digest}-{cache._content(built)}.so"
    shutil.copy(built, target)
    return target


def test_compiled_once_into_a_private_directory(real_sources):
    place = real_sources
    assert available() is None
    (built,) = place.iterdir()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(built.stat().st_mode) == 0o600
    made = built.stat().st_mtime_ns
    library.library.cache_clear()
    assert available() is None
    assert [path.stat().st_mtime_ns for path in place.iterdir()] == [made]


def test_a_changed_header_is_compiled_anew(tmp_path, monkeypatch):
    """Every source and header counts, by its name and its text; so do the flags and the processor."""
    sources = tmp_path / "sources"
    shutil.copytree(library.SOURCES, sources, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.setattr(library, "SOURCES", sources)
    digests = [library.source_digest("descent")]
    changed = ["descent.cpp", *sorted(path.name for path in sources.glob("*.h"))]
    for name in changed:
        (sources / name).write_text((sources / name).read_text() + "// another line\n")
        digests.append(library.source_digest("descent"))
    (sources / "one_pass.cpp").write_text("// something else\n")
    assert library.source_digest("descent") == digests[-1]
    monkeypatch.setattr(library, "FLAGS", (*library.FLAGS, "-g"))
    digests.append(library.source_digest("descent"))
    monkeypatch.setattr(library, "processor", lambda: "another")
    digests.append(library.source_digest("descent"))
    assert len(digests) == len(set(digests)) == len(changed) + 3


def test_a_new_version_of_the_compiler_compiles_anew(place, tmp_path, monkeypatch):
    pretended(tmp_path, "12.2", monkeypatch)
    first = loaded_again()
    assert loaded_again() == first
    pretended(tmp_path, "13.1", monkeypatch)
    assert loaded_again() != first
    assert len(list(place.iterdir())) == 2


@pytest.mark.skipif(platform.machine() != "x86_64" or shutil.which("g++") is None, reason="flags of g++ on x86-64")
@pytest.mark.parametrize("name", ["descent", "one_pass"])
def test_no_warning_and_no_instruction_set_by_name(name, real_sources, monkeypatch):
    monkeypatch.setenv("CXX", "g++")
    strict = ("-O0", "-march=x86-64", "-Wall", "-Wextra", "-Wpedantic", "-Wno-psabi", "-Werror")
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, *strict))
    library.library(name)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: os.truncate(path, 100),
        lambda path: os.truncate(path, 0),
        lambda path: path.write_bytes(path.read_bytes().replace(b"bk_one_pass", b"bk_one_past")),
        lambda path: path.chmod(0o622),
    ],
    ids=["cut off", "empty", "altered", "written to by others"],
)
def test_a_damaged_library_is_compiled_again(place, damage):
    loaded_again()
    (built,) = place.iterdir()
    before = built.read_bytes()
    replaced = built.with_suffix(".copy")  # this process has the first one in its memory, and truncating would kill it
    shutil.copy(built, replaced)
    replaced.replace(built)
    damage(built)
    loaded_again()
    assert built.read_bytes() == before
    assert stat.S_IMODE(built.stat().st_mode) == 0o600


def test_a_link_out_of_the_cache_is_not_followed(place, tmp_path):
    loaded_again()
    (built,) = place.iterdir()
    elsewhere = built.rename(tmp_path / "elsewhere.so")
    built.symlink_to(elsewhere)
    loaded_again()
    assert not built.is_symlink()


def test_a_planted_library_in_another_users_directory_is_not_loaded(place, tmp_path, monkeypatch):
    planted(place, tmp_path)
    make_foreign(place, monkeypatch)
    with pytest.warns(UserWarning, match=r"cache belongs to another user .*: the compiled step one_pass is kept in"):
        used = loaded_again()
    assert not (tmp_path / "mark").exists()
    assert Path(used).parent == tmp_path / "home" / "beyondkernels"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once, when the library is made
        assert loaded_again() == used


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_planted_library_in_a_directory_that_others_can_write_to_is_not_loaded(place, tmp_path, mode):
    planted(place, tmp_path)
    place.chmod(mode)
    with pytest.warns(UserWarning, match=rf"can be written to by other users \(mode {mode:o}\)"):
        used = loaded_again()
    assert not (tmp_path / "mark").exists()
    assert Path(used).parent == tmp_path / "home" / "beyondkernels"


def test_a_planted_library_would_have_been_loaded_from_a_private_directory(place, tmp_path):
    """The tests above could not fail if its name were wrong."""
    target = planted(place, tmp_path)
    target.chmod(0o600)
    place.chmod(0o700)
    assert loaded_again() == str(target)
    assert (tmp_path / "mark").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_file_in_a_private_directory_is_not_loaded(place, tmp_path):
    target = planted(place, tmp_path)
    place.chmod(0o700)
    os.chown(target, 65534, 65534)
    assert loaded_again() != str(target)
    assert not (tmp_path / "mark").exists()


def test_the_users_own_cache_directory_may_be_in_other_hands(place, tmp_path, monkeypatch):
    monkeypatch.delenv("BK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "beyondkernels").mkdir()
    (tmp_path / "beyondkernels").chmod(0o777)
    with pytest.warns(UserWarning, match="can be written to by other users"):
        assert Path(loaded_again()).parent == tmp_path / "beyondkernels-private"
    (tmp_path / "beyondkernels-private").chmod(0o777)
    refused("set BK_CACHE to a directory that only you can write to", loaded_again)


def test_no_compiler_and_nothing_compiled(place, monkeypatch):
    without_compiler(monkeypatch)
    assert "install g++ or clang++" in str(available())
    refused(r"needs a C.. compiler, and none was found.*choose backend='eager'", library.library)


def test_no_compiler_but_compiled_before(place, monkeypatch):
    before = loaded_again()
    without_compiler(monkeypatch)
    assert loaded_again() == before


def test_no_compiler_and_only_a_damaged_library(place, monkeypatch):
    loaded_again()
    (built,) = place.iterdir()
    built.rename(built.with_name(built.name.replace(built.stem[-4:], "0000")))
    without_compiler(monkeypatch)
    refused(r"needs a C.. compiler", loaded_again)
    assert list(place.iterdir()) == []


def test_a_compiler_that_fails(place, tmp_path, monkeypatch):
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'no such flag' >&2\nexit 1\n")
    broken.chmod(0o755)
    good = loaded_again("one_pass")
    monkeypatch.setenv("CXX", str(broken))
    refused(r"broken could not compile descent.cpp \(no such flag\); install", library.library)
    assert len(list(place.iterdir())) == 1  # nothing half done is left behind
    assert loaded_again("one_pass") == good  # made by the compiler that worked


def test_a_compiler_that_makes_nothing_that_can_be_loaded(place, tmp_path, monkeypatch):
    odd = tmp_path / "odd"
    odd.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho "$@" > "$2"\n')
    odd.chmod(0o755)
    monkeypatch.setenv("CXX", str(odd))
    refused(r"what odd made of descent.cpp cannot be loaded .* set BK_CACHE", library.library)


def test_builders_at_the_same_time(place):
    """They begin with a library that is cut off: each loads a whole one, one is left, and no builder's folder."""
    (target,) = [Path(loaded_again())]
    target.unlink()  # not truncated: this process has it in its memory
    target.write_bytes(b"\x7fELF")
    target.chmod(0o600)
    builders = [process(place) for _ in range(2)]
    assert [builder.wait(timeout=240) for builder in builders] == [0, 0]
    (built,) = place.iterdir()
    assert cache._is_intact(built)


def test_dead_builds_are_swept(place, monkeypatch):
    loaded_again()
    (used,) = place.iterdir()
    now = time.time()
    old = [place / f"descent-{i:024x}.so" for i in range(2)]  # as the first version named them
    unused = [place / f"descent-{i:024x}-{i:012x}-{i:032x}.so" for i in range(3)]
    foreign = place / "notes.so"
    killed, at_work = place / "building-killed", place / "building-now"
    for path in (*old, *unused, foreign):
        path.touch()
        os.utime(path, (now, now - 61 * 86_400))
    for folder in (killed, at_work):
        folder.mkdir()
        (folder / "step.so").touch()
    os.utime(killed, (now, now - 7200))
    os.utime(old[1], (now, now - 59 * 86_400))
    assert loaded_again("descent") != str(used)
    kept = {path for path in place.iterdir() if not path.name.startswith("descent-" + library.source_digest("descent"))}
    assert kept == {used, old[1], foreign, at_work}


def test_no_more_than_so_many_are_kept(place, monkeypatch):
    monkeypatch.setattr(cache, "MOST_LIBRARIES", 3)
    place.mkdir(0o700)
    others = [place / f"descent-{i:024x}.so" for i in range(5)]
    for i, path in enumerate(others):
        path.touch()
        os.utime(path, (0, time.time() - 100 * i))
    used = Path(loaded_again())
    assert set(place.iterdir()) == {used, others[0], others[1]}


def test_what_is_used_stays(place):
    used = Path(loaded_again())
    long_ago = time.time() - 70 * 86_400
    os.utime(used, (long_ago, long_ago))
    loaded_again()
    loaded_again("descent")
    assert used.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written(place, tmp_path):
    place.mkdir(0o500)
    with pytest.warns(UserWarning, match="cannot be written to"):
        assert Path(loaded_again()).parent == tmp_path / "home" / "beyondkernels"


def test_a_cache_that_is_a_file(place, tmp_path):
    place.write_text("precious")
    with pytest.warns(UserWarning, match="cache is not a directory: the compiled step one_pass is kept in"):
        assert Path(loaded_again()).parent == tmp_path / "home" / "beyondkernels"
    assert place.read_text() == "precious"


def test_where_it_is_kept_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("BK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.directories()[0] == tmp_path / "beyondkernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.directories()[0] == tmp_path / ".cache" / "beyondkernels"
