from __future__ import annotations

import pytest

from beyondkernels.core import InputError
from beyondkernels.runs import Finding, MissingRequestError


def test_newest_request_is_kept_for_each_scale(store):
    assert store.requests() == []
    first = {"experiment": "features/table1", "scale": "smoke", "seeds": [0], "labels": {"a": "0" * 32}, "note": "ß"}
    second, third = {**first, "seeds": [0, 1]}, {**first, "scale": "laptop"}
    other = {"experiment": "resnet/fig2a", "scale": "smoke"}
    for request in (first, third, second, other):
        store.write_request(request["experiment"], request)
    assert store.requests() == [third, second, other]
    assert store.read_request("features/table1", "laptop") == third
    assert store.read_request("features/table1", "smoke") == store.read_request("features/table1") == second
    assert (store.path / "requests" / "features__table1" / "smoke.json").is_file()
    assert list((store.path / "tmp").iterdir()) == []
    assert store.size().requests == 3


def test_missing_request_says_what_to_do(store):
    store.write_request("features/table1", {"scale": "smoke"})
    with pytest.raises(MissingRequestError, match="features/table2 has not been run in this store; run it with bk run"):
        store.read_request("features/table2")
    with pytest.raises(MissingRequestError, match="features/table1 at scale paper has not been run"):
        store.read_request("features/table1", "paper")


@pytest.mark.parametrize("name", ["", "/etc/x", "../x", "a/../b", ".", "a//b", "a__b", "a b", "a\\b"])
def test_names_cannot_lead_elsewhere(store, name):
    with pytest.raises(InputError, match="an experiment's id reads like features/table1, got"):
        store.write_request(name, {"scale": "smoke"})
    with pytest.raises(InputError, match="an experiment's id reads like features/table1, got"):
        store.read_request(name)


@pytest.mark.parametrize("request_", [{}, {"scale": None}, {"scale": "../x"}])
def test_scale_is_a_word(store, request_):
    with pytest.raises(InputError, match="scale must be a word, got"):
        store.write_request("features/table1", request_)


def test_id_of_a_file_is_fine(store):
    store.write_request("mine/file.py:BEST", {"scale": "smoke", "x": 1})
    assert store.read_request("mine/file.py:BEST")["x"] == 1


def test_every_flipped_byte_of_a_request_is_found(store):
    store.write_request("features/table1", {"scale": "smoke", "seeds": [0, 1, 2]})
    path = store.path / "requests" / "features__table1" / "smoke.json"
    content = path.read_bytes()
    for position in range(len(content)):
        flipped = bytearray(content)
        flipped[position] ^= 1
        path.write_bytes(flipped)
        assert store.verify() == [Finding("requests/features__table1/smoke", "smoke.json does not have its checksum")]
        assert store.requests() == []
    with pytest.raises(MissingRequestError, match=r"the request of features/table1 is damaged .* run it again"):
        store.read_request("features/table1")
    store.write_request("features/table1", {"scale": "smoke"})
    assert store.verify() == []
