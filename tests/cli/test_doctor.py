"""``bk doctor``, and ``bk run`` on a machine that lacks something."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.engine.compiled import compiler, library
from beyondkernels.store import Store

needs_compiler = pytest.mark.skipif(compiler.find_compiler() is None, reason="there is no C++ compiler here")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache for this file, with sources that are compiled in no time."""
    sources, place = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("cache")
    for name in library.STEPS:
        (sources / f"{name}.cpp").write_text(f'extern "C" long bk_{name}() {{ return 7; }}\n')
    monkeypatch.setattr(library, "SOURCES", sources)
    monkeypatch.setenv("BK_CACHE", str(place / "beyondkernels"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "home"))
    library.library.cache_clear()
    yield place / "beyondkernels"
    library.library.cache_clear()


def sentences(text: str) -> list[str]:
    """The lines of an answer, those that were wrapped joined again."""
    return re.sub(r"\n {8}", " ", text).splitlines()


def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    library.library.cache_clear()


@needs_compiler
def test_a_machine_that_is_ready(bk: Any, tmp_path: Path, own_cache: Path) -> None:
    store = Store.open(tmp_path / "a store").path
    answer = bk("doctor", "--store", store)
    assert answer.exit_code == 0, answer.stdout
    *lines, last = sentences(answer.stdout)
    assert last == "This machine is ready."
    assert all(line.startswith("ok      ") for line in lines)
    for words in ("Python 3", "torch", "matplotlib", "PyTorch works", "worker", "thread", f"store {store}: 0 runs"):
        assert words in "\n".join(lines), words
    found: Any = compiler.find_compiler()
    assert f"ok      the C++ compiler works: {found.version.splitlines()[0]}" in lines
    assert any(
        line.startswith(f"ok      compile cache {own_cache}: {len(library.STEPS)} libraries, ") for line in lines
    )
    words = [line for line in answer.stdout.splitlines() if str(own_cache.parent) not in line and "store" not in line]
    assert max(map(len, words)) <= 80


def test_the_store(bk: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    bad = bk("doctor", "--store", "file")
    assert bad.exit_code == 1
    assert sentences(bad.stdout)[-2:] == [
        "PROBLEM store: file is a file, a store is a directory",
        "This machine is not ready: see the lines that begin with PROBLEM.",
    ]
    none = sentences(bk("doctor", "--store", "far/away/store").stdout)[-2]
    assert none.startswith("ok      store far/away/store: none yet, bk run makes it; ")


@pytest.mark.parametrize("name", ["torch", "rich"])
def test_what_is_missing(bk: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    from importlib import metadata

    version = metadata.version

    def versions(package: str) -> str:
        if package == name:
            raise metadata.PackageNotFoundError(package)
        return "0.0.1" if package == "scipy" else version(package)

    monkeypatch.setattr(metadata, "version", versions)
    answer = bk("doctor")
    assert answer.exit_code == 1
    assert re.search(rf"^PROBLEM {name} is missing \([\d.]+ or newer is needed\)$", answer.stdout, re.MULTILINE)
    assert "PROBLEM scipy 0.0.1 (" in answer.stdout


def test_no_compiler(bk: Any, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_compiler(monkeypatch)
    monkeypatch.setenv("CXX", "nowhere")
    answer = bk("doctor")
    assert answer.exit_code == 1
    lines = sentences(answer.stdout)
    assert "PROBLEM the environment variable CXX names 'nowhere', which is not found" in lines
    (lacks,) = [line for line in lines if "experiments that use it do not start" in line]
    assert lacks.startswith("PROBLEM ")
    assert "install g++ or clang++" in lacks
    assert "--set backend=eager" in lacks


def test_an_accelerator_is_named(bk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    assert "ok      no accelerator (neither CUDA nor MPS)" in bk("doctor").stdout or torch.cuda.is_available()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Imaginary 100")
    ones = torch.ones
    monkeypatch.setattr(torch, "ones", lambda *size, **_: ones(*size))  # pretends that the device works
    assert re.search(r"ok      CUDA \S+ on Imaginary 100 works", bk("doctor").stdout)

    def broken(*_: object, device: str) -> None:
        raise RuntimeError(f"no kernel image for {device}\nmore lines")

    monkeypatch.setattr(torch, "ones", broken)
    answer = bk("doctor")
    assert answer.exit_code == 1
    said = "PROBLEM PyTorch finds an accelerator, but cannot use it: no kernel image for cuda"
    assert said in sentences(answer.stdout)


def test_an_experiment_that_needs_a_compiler_does_not_start_without(
    bk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_compiler(monkeypatch)
    answer = bk("run", "resnet/theorem1", "--scale", "smoke", "--store", tmp_path / "runs", "--workers", "1")
    assert answer.exit_code == 2
    (said,) = [line for line in answer.stderr.splitlines() if line.startswith("bk: ")]
    assert "install g++ or clang++" in said
    assert "--set backend=eager" in said
    assert list((tmp_path / "runs").glob("runs/*/*")) == []
    assert os.environ["PATH"] == ""  # nothing above worked because a compiler was there
