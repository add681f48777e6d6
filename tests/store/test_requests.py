import pytest

from beyondkernels.store import Finding
from beyondkernels.store.documents import sealed
from beyondkernels.store.requests import digest
from refusals import refused


def asked(scale="smoke", **other):
    """A request as small as can be."""
    lists = {"seeds": [0], "runs": [], "claims": []}
    return {"name": "x", "scale": scale, "settings": {}, **lists, "complete": True, "provenance": {}, **other}


def facts(requests):
    """What was written, without what reading adds."""
    return [{name: r[name] for name in r if name not in ("digest", "written")} for r in requests]


def file_of(store, experiment, request):
    name = f"{request['scale']}-{digest(experiment, request)}.json"
    return store.path / "requests" / experiment.replace("/", "__") / name


def test_newest_request_of_each_scale_settings_and_seeds_is_kept(store):
    assert store.requests() == []
    standard = asked(experiment="features/table1", settings={"alpha": 0.3, "seeds": 1}, note="ß")
    again = {**standard, "note": "anew"}
    variant = {**standard, "settings": {"alpha": 0.5, "seeds": 1}}
    seeds, laptop = {**standard, "seeds": [0, 1]}, {**standard, "scale": "laptop"}
    other = asked(experiment="resnet/fig2a")
    for request in (standard, laptop, variant, again, seeds, other):
        store.write_request(request["experiment"], request)
    assert facts(store.requests()) == [laptop, variant, again, seeds, other]
    found = store.requests()
    assert len({request["digest"] for request in found}) == 5
    assert [request["written"] for request in found] == sorted(request["written"] for request in found)
    assert file_of(store, "features/table1", variant).is_file()
    assert list((store.path / "tmp").iterdir()) == []
    assert store.size().requests == 5
    assert store.verify() == []


def test_a_request_says_whether_it_is_complete(store):
    store.write_request("features/table1", asked(complete=False))
    assert [request["complete"] for request in store.requests()] == [False]
    store.write_request("features/table1", asked(complete=True))
    assert [request["complete"] for request in store.requests()] == [True]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"seeds": [0, True]}, "has seeds that are not whole numbers"),
        ({"settings": []}, "has settings of the wrong kind, a list"),
        ({"runs": [1]}, "has runs without a label"),
        ({"runs": [{"label": ["a"], "key": "../../etc"}]}, "has runs without a key"),
        ({"complete": 1}, "has complete of the wrong kind, a int"),
        ({"claims": [[]]}, "has claims without an id"),
        ({"name": None}, "has name of the wrong kind, a NoneType"),
        ({"provenance": {"seconds": "1"}}, "has a provenance that is wrong: seconds must be a number, got a str"),
        ({"experiment": "resnet/fig3"}, "does not name its experiment"),
        ({"scale": "smoke\n"}, "has a scale that must be a word"),
    ],
)
def test_requests_of_the_wrong_kind_are_damaged(store, change, what):
    refused(f"a request {what}", store.write_request, "features/table1", asked(**change))
    store.write_request("features/table1", asked())
    path = file_of(store, "features/table1", asked())
    path.write_bytes(sealed({"experiment": "features/table1", "written": 1, "request": asked(**change)}))
    assert store.requests() == []
    (finding,) = store.verify()
    assert finding.key == f"requests/features__table1/{path.stem}"
    assert what in finding.what
    assert store.put_aside([finding]) == 1
    assert store.verify() == []


@pytest.mark.parametrize(
    "document",
    [
        {"experiment": 7, "written": 1, "request": asked()},
        {"experiment": "features/table1", "written": "now", "request": asked()},
        {"experiment": "features/table1", "written": 1, "request": []},
        {"experiment": "resnet/fig3", "written": 1, "request": asked()},
        {"experiment": "features/table1", "written": 1, "request": asked("laptop")},
        {"experiment": "..", "written": 1, "request": asked()},
    ],
)
def test_requests_that_are_none_or_of_others_are_damaged(store, document):
    store.write_request("features/table1", asked())
    file_of(store, "features/table1", asked()).write_bytes(sealed(document))
    assert store.requests() == []
    assert len(store.verify()) == 1


@pytest.mark.parametrize("name", ["", "/etc/x", "../x", "a/../b", ".", "a//b", "a__b", "a b", "a\\b"])
def test_names_cannot_lead_elsewhere(store, name):
    refused("an experiment's id reads like features/table1, got", store.write_request, name, asked())


def test_every_flipped_byte_of_a_request_is_found(store):
    request = asked(seeds=[0, 1, 2])
    store.write_request("features/table1", request)
    path = file_of(store, "features/table1", request)
    content = path.read_bytes()
    for position in range(len(content)):
        flipped = bytearray(content)
        flipped[position] ^= 1
        path.write_bytes(flipped)
        assert store.verify() == [
            Finding(f"requests/features__table1/{path.stem}", f"{path.name} does not have its checksum")
        ]
        assert store.requests() == []
    store.write_request("features/table1", request)
    assert store.verify() == []
