import pytest

from beyondkernels.store import Finding, MissingRequestError
from beyondkernels.store.documents import sealed
from beyondkernels.store.requests import digest
from refusals import refused


def asked(scale="smoke", **other):
    """A request as small as can be."""
    fields = {"name": "x", "scale": scale, "seeds": [0], "settings": {}, "runs": [], "claims": [], "provenance": {}}
    return {**fields, **other}


def facts(requests):
    """What was written, without what reading adds."""
    return [{name: r[name] for name in r if name not in ("digest", "written", "complete")} for r in requests]


def file_of(store, experiment, request):
    name = f"{request['scale']}-{digest(experiment, request)}.json"
    return store.path / "requests" / experiment.replace("/", "__") / name


def as_before(store, experiment, request, written=1):
    """Write a request as earlier versions did: one for each scale."""
    path = store.path / "requests" / experiment.replace("/", "__") / f"{request['scale']}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(sealed({"experiment": experiment, "written": written, "request": request}))
    return path


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
    assert facts([store.read_request("features/table1", "laptop")]) == [laptop]
    assert facts([store.read_request("features/table1", "smoke"), store.read_request("features/table1")]) == [seeds] * 2
    found = store.requests()
    assert len({request["digest"] for request in found}) == 5
    assert [request["written"] for request in found] == sorted(request["written"] for request in found)
    assert file_of(store, "features/table1", variant).is_file()
    assert list((store.path / "tmp").iterdir()) == []
    assert store.size().requests == 5
    assert store.verify() == []


def test_a_request_of_an_earlier_version_is_read_until_there_is_a_newer_one(store):
    standard = asked(experiment="features/table1", settings={"alpha": 0.3})
    as_before(store, "features/table1", standard)
    assert facts(store.requests()) == [standard]
    assert store.requests()[0]["complete"] is True  # it was kept in the end as well
    variant = {**standard, "settings": {"alpha": 0.5}}
    store.write_request("features/table1", variant)
    assert facts(store.requests()) == [standard, variant]
    store.write_request("features/table1", {**standard, "note": "anew"})
    assert facts(store.requests()) == [variant, {**standard, "note": "anew"}]
    assert store.verify() == []


def test_a_request_says_whether_it_is_complete(store):
    store.write_request("features/table1", asked(complete=False))
    assert store.read_request("features/table1")["complete"] is False
    store.write_request("features/table1", asked(complete=True))
    assert [request["complete"] for request in store.requests()] == [True]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"seeds": [0, True]}, "has seeds that are not whole numbers"),
        ({"settings": []}, "has settings of the wrong kind, a list"),
        ({"runs": [1]}, "has runs without a label"),
        ({"runs": [{"label": ["a"], "key": "../../etc"}]}, "has runs without a key"),
        ({"claims": [[]]}, "has claims without an id"),
        ({"name": None}, "has name of the wrong kind, a NoneType"),
        ({"provenance": {"seconds": "1"}}, "has a provenance that is wrong: seconds must be a number, got a str"),
        ({"experiment": "resnet/fig3"}, "does not name its experiment"),
        ({"scale": "smoke\n"}, "has a scale that must be a word"),
    ],
)
def test_requests_of_the_wrong_kind_are_damaged(store, change, what):
    refused(f"a request {what}", store.write_request, "features/table1", asked(**change))
    path = as_before(store, "features/table1", asked())
    path.write_bytes(sealed({"experiment": "features/table1", "written": 1, "request": asked(**change)}))
    assert store.requests() == []
    (finding,) = store.verify()
    assert (finding.key, finding.what) == ("requests/features__table1/smoke", finding.what)
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
    as_before(store, "features/table1", asked()).write_bytes(sealed(document))
    assert store.requests() == []
    assert len(store.verify()) == 1


def test_missing_request_says_what_to_do(store):
    store.write_request("features/table1", asked())
    with pytest.raises(MissingRequestError, match="features/table2 has not been run in this store; run it with bk run"):
        store.read_request("features/table2")
    with pytest.raises(MissingRequestError, match="features/table1 at scale paper has not been run"):
        store.read_request("features/table1", "paper")


@pytest.mark.parametrize("name", ["", "/etc/x", "../x", "a/../b", ".", "a//b", "a__b", "a b", "a\\b"])
def test_names_cannot_lead_elsewhere(store, name):
    refused("an experiment's id reads like features/table1, got", store.write_request, name, asked())
    refused("an experiment's id reads like features/table1, got", store.read_request, name)


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
    with pytest.raises(MissingRequestError, match=r"the request of features/table1 is damaged .* run it again"):
        store.read_request("features/table1")
    store.write_request("features/table1", request)
    assert store.verify() == []
