"""What a store keeps of a user's file; the files themselves are loaded in ``tests/experiments/test_catalogue.py``."""

from beyondkernels.lab import ask
from beyondkernels.lab.declaration.user_files import portable


def test_names_are_kept_without_telling_whose_they_are() -> None:
    assert portable("features/table1") == "features/table1"
    for telling in (
        "ada/parity.py:Mine",
        "/home/ada/parity.py:Mine",
        "../ada/parity.py:Mine",
        "x/../../ada/parity.py:Mine",
        "~/parity.py:Mine",
    ):
        assert portable(telling) == "parity.py:Mine"


def test_the_only_experiment_of_a_file_keeps_its_name(tmp_path):
    """Also if it is an instance of a class that the file imports."""
    path = tmp_path / "named_here.py"
    path.write_text(
        "import torch\nfrom beyondkernels.auditing import Audit\n"
        "MINE = Audit(torch.nn.Linear(2, 1), (torch.arange(18.0).reshape(9, 2), torch.arange(9.0)), name='mine')\n"
    )
    asked = ask(str(path))
    assert asked.name == f"{path}:MINE"
    assert asked.command() == "bk audit named_here.py:MINE"
