"""What the command line imports must not wait for torch."""

import subprocess
import sys

import pytest

import beyondkernels as bk

HEAVY = ("torch", "sklearn", "matplotlib", "pandas")
NUMBERS, PAGES = (*HEAVY, "numpy"), (*HEAVY, "numpy", "scipy", "jinja2", "markdown_it", "latex2mathml")
CHEAP = {"": HEAVY, ".lab.catalogue": HEAVY, ".cli": HEAVY, ".lab.report": PAGES}
CHEAP |= {".store.store": NUMBERS, ".execution.worker": NUMBERS}


@pytest.mark.parametrize("name", CHEAP)
def test_import_without_torch(name):
    code = f"import beyondkernels{name}, sys; print(*(m for m in {CHEAP[name]!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
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
