"""What a store keeps of a user's file; the files themselves are loaded in ``tests/experiments/test_catalogue.py``."""

from __future__ import annotations

from beyondkernels.frame.loading import portable


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
