"""What a person finds who types ``help(bk)`` or ``dir(bk)``."""

from __future__ import annotations

import pydoc
import subprocess
import sys

import beyondkernels as bk


def test_dir_lists_what_there_is() -> None:
    public = [name for name in dir(bk) if not name.startswith("_")]
    assert {"run", "fit", "compare", "fit_many", "data", "networks", "kernels", "features", "bfc"} <= set(public)
    assert set(public) == {*bk.__all__, *bk.lab.PAPERS}
    for name in public:
        assert getattr(bk, name) is not None
    assert not {"annotations", "TYPE_CHECKING", "LAYERS", "cli"} & set(public)


def test_help_begins_with_what_to_type() -> None:
    text = pydoc.plain(pydoc.render_doc(bk))
    for words in ("bk.run(", "bk.fit(", "bk.compare(", "bk.fit_many(", "FUNCTIONS", "    run(name"):
        assert words in text


def test_importing_it_costs_nothing() -> None:
    program = "import sys; before = set(sys.modules); import beyondkernels; print(sorted(set(sys.modules) - before))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "['__future__', 'beyondkernels']\n"
