"""What the command line imports must not wait for torch."""

import subprocess
import sys

import pytest

import beyondkernels as bk

HEAVY = ("torch", "sklearn", "matplotlib", "pandas")


@pytest.mark.parametrize("name", ["", ".store.store", ".lab.catalogue", ".cli"])
def test_import_without_torch(name):
    code = f"import beyondkernels{name}, sys; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "torch" not in done.stdout.split()
    assert done.stdout.split() == []


def test_subpackages_load_on_first_use():
    code = (
        "import sys, beyondkernels as bk\n"
        "assert not any(m.startswith('beyondkernels.') for m in sys.modules), 'too early'\n"
        "assert {*bk.LAYERS} - {*dir(bk)} == {'cli'}, 'the command line is no part of the Python interface'\n"
        "bk.core.InputError\n"
        "assert 'beyondkernels.core' in sys.modules and 'torch' not in sys.modules\n"
        "try: bk.nonsense\n"
        "except AttributeError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "module 'beyondkernels' has no attribute 'nonsense'"


@pytest.mark.parametrize("name", ["lab", "bfc", "features", "overparam", "resnet"])
def test_tab_offers_everything(name):
    package = getattr(bk, name)
    for each in dir(package):
        assert getattr(package, each) is not None
