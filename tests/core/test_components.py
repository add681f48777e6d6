"""Components: description and back, identity, and the sentences when there is none."""

import hashlib
import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest

from beyondkernels.activations import SmoothedTruncatedReLU
from beyondkernels.core import (
    Component,
    InputError,
    UncacheableError,
    build,
    canonical_json,
    describe,
    digest,
    later,
    load_file,
)
from beyondkernels.core.components import admit, class_name, foreign
from beyondkernels.core.constraints import any_number
from beyondkernels.core.fingerprints import fingerprint
from beyondkernels.networks import TwoLayer
from refusals import refused

GOLDEN_JSON = '{"class":"activations.SmoothedTruncatedReLU","fields":{"std":0.1},"revision":1}'
GOLDEN_DIGEST = "910af39b1824"


@dataclass(frozen=True)
class Leaf(Component):
    revision: ClassVar[int] = 3

    size: Annotated[int, any_number] = 2
    rate: Annotated[float, any_number] = 0.5
    limit: Annotated[float, any_number] | None = None
    remark: str = field(default="", compare=False, metadata={"identity": False})


@dataclass(frozen=True)
class Tree(Component):
    leaf: Leaf
    leaves: tuple[Leaf, ...] = ()
    function: Callable[..., Any] | None = None
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rate: float = 1.0
    anything: Any = None
    comment: Any = field(default=None, compare=False, metadata={"identity": False})


class Outer:
    @dataclass(frozen=True)
    class Inner(Component):
        value: bool = True


def named(x: float) -> float:
    return x + 1


def through_text(value: Any) -> Any:
    return build(json.loads(canonical_json(value)))


@pytest.mark.parametrize(
    "value",
    [
        Leaf(),
        Leaf(size=10**30, rate=1e-300, limit=-0.0),
        Leaf(rate=0.1 + 0.2, limit=math.nextafter(1, 2)),
        Leaf(rate=math.inf, limit=-math.inf),
        Tree(Leaf(7)),
        Tree(Leaf(), (Leaf(1), Leaf(2, 0.25, 3.0)), named, {"hidden": ("a", "b"), "last": ()}),
        Tree(Leaf(), anything=Tree(Leaf(), (Leaf(),), anything=(True, None, "text, ünïcode", (1, (2.5,)), Leaf()))),
        Tree(Leaf(), function=Leaf),
        Outer.Inner(False),
        SmoothedTruncatedReLU(0.1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_description_and_back(value):
    again = through_text(value)
    assert again == value
    assert type(again) is type(value)
    assert digest(again) == digest(value)
    assert canonical_json(again) == canonical_json(value)


def test_nan_comes_back():
    assert math.isnan(through_text(Leaf(rate=math.nan)).rate)
    assert describe(Leaf(rate=math.nan))["fields"]["rate"] == {"float": "nan"}
    assert len({digest(Leaf(rate=value)) for value in (math.nan, math.inf, -math.inf, 0.5)}) == 4


def test_description_is_plain_data():
    leaf = {"class": f"{__name__}:Leaf", "revision": 3, "source": fingerprint(Leaf)}
    assert describe(Tree(Leaf(1), (Leaf(2, 3, 4),), named, {"all": ("a",)}, 2)) == {
        "class": f"{__name__}:Tree",
        "revision": 1,
        "source": fingerprint(Tree),
        "fields": {
            "leaf": {**leaf, "fields": {"size": 1, "rate": 0.5, "limit": None}},
            "leaves": [{**leaf, "fields": {"size": 2, "rate": 3.0, "limit": 4.0}}],
            "function": {"function": f"{__name__}:named", "source": fingerprint(named)},
            "names": {"mapping": {"all": ["a"]}},
            "rate": 2.0,
            "anything": None,
        },
    }


def test_whole_numbers_in_float_fields_are_floats():
    for whole, real in (
        (Leaf(rate=2), Leaf(rate=2.0)),
        (Leaf(limit=3), Leaf(limit=3.0)),
        (Leaf(rate=0), Leaf(rate=0.0)),
    ):
        assert canonical_json(whole) == canonical_json(real)
        assert digest(whole) == digest(real)
    assert digest(Leaf(size=2)) != digest(Leaf(size=3))
    assert '"size":2' in canonical_json(Leaf(size=2))


def test_remarks_do_not_count():
    assert digest(Leaf(remark="one")) == digest(Leaf(remark="other")) == digest(Leaf())
    assert "remark" not in canonical_json(Leaf(remark="one"))
    assert through_text(Leaf(remark="one")).remark == ""


@pytest.mark.parametrize(
    "other",
    [Leaf(3), Leaf(rate=0.5000000000000001), Leaf(limit=0.0), SmoothedTruncatedReLU(0.5), Tree(Leaf())],
    ids=["size", "rate", "limit", "class", "nesting"],
)
def test_everything_else_counts(other):
    assert digest(other) != digest(Leaf())


def test_order_of_a_mapping_does_not_count():
    one, other = {"a": ("x",), "b": ("y",)}, {"b": ("y",), "a": ("x",)}
    assert digest(Tree(Leaf(), names=one)) == digest(Tree(Leaf(), names=other))


def test_golden_digest():
    """A change here changes the key of every stored run."""
    value = SmoothedTruncatedReLU(0.1)
    assert canonical_json(value) == GOLDEN_JSON
    assert digest(value) == hashlib.sha256(GOLDEN_JSON.encode()).hexdigest()[:32]
    assert digest(value)[:12] == GOLDEN_DIGEST


def unnamed_functions() -> dict[str, Any]:
    def local(x: float) -> float:
        return x

    return {"lambda": lambda x: x, "local": local, "partial": partial(named, 1), "bound method": Leaf().__eq__}


@pytest.mark.parametrize("kind", unnamed_functions())
def test_unnamed_functions_have_no_identity(kind):
    sentence = r"Tree\.function holds an unnamed function without a stable identity, so the run is not stored"
    with pytest.raises(UncacheableError, match=sentence):
        digest(Tree(Leaf(), function=unnamed_functions()[kind]))


def test_the_place_of_what_has_no_identity_is_named():
    with pytest.raises(UncacheableError, match=r"Tree\.anything\[1\]\['key'\] holds a set without a stable identity"):
        digest(Tree(Leaf(), anything=(1, {"key": {2}})))
    with pytest.raises(UncacheableError, match=r"configuration holds a object without"):
        digest(object())
    assert issubclass(UncacheableError, InputError)


@pytest.mark.parametrize("path", ["pathlib:Path", "os:getcwd", f"{__name__}:Outer", f"{__name__}:named"])
def test_only_components_are_built(path):
    refused(f"'{path}' is not a component", build, {"class": path, "revision": 1, "fields": {}})


def test_other_revisions_are_refused():
    refused("Leaf is at revision 3, the description at 2", build, describe(Leaf()) | {"revision": 2})


@pytest.mark.parametrize("path", ["nowhere.Thing", "core.Thing", "no dot at all", ""])
def test_lost_classes_are_named(path):
    refused(f"no component '{path}' can be found", build, {"class": path, "revision": 1, "fields": {}})


def test_file_is_loaded_and_its_components_found_again(tmp_path: Path):
    path = tmp_path / "mine_for_this_test.py"
    path.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from beyondkernels.core import Component\n"
        "@dataclass(frozen=True)\n"
        "class Mine(Component):\n"
        "    rate: float = 1.0\n"
    )
    mine = load_file(path).Mine
    assert mine.__module__ == "beyondkernels_user.mine_for_this_test"
    assert digest(mine(2)) == digest(mine(2.0))
    assert through_text(mine(0.25)) == mine(0.25)
    assert load_file(str(path)).__name__ == mine.__module__


def test_file_sentences(tmp_path: Path):
    refused(r"^no file .*absent\.py$", load_file, tmp_path / "absent.py")
    refused(r"^no file ", load_file, tmp_path)
    text = tmp_path / "notes.txt"
    text.write_text("not code")
    refused(r"notes\.txt is not a Python file", load_file, text)
    broken = tmp_path / "broken_for_this_test.py"
    broken.write_text("1 / 0")
    refused(r"broken_for_this_test\.py cannot be imported: ZeroDivisionError: division", load_file, broken)
    assert "beyondkernels_user.broken_for_this_test" not in sys.modules


def test_two_files_of_one_name_are_not_mixed_up(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "twin_named.py").write_text("X = 1\n", encoding="utf-8")
    load_file(tmp_path / "one" / "twin_named.py")
    load_file(tmp_path / "one" / "twin_named.py")
    refused(r"two files named twin_named\.py cannot be used together", load_file, tmp_path / "two" / "twin_named.py")


def test_a_function_of_a_users_file_is_known_by_what_the_file_says(tmp_path):
    file = tmp_path / "factory_of_mine.py"
    file.write_text("def make(i, o):\n    return i + o\n", encoding="utf-8")
    first = describe(load_file(file).make)
    assert build(first)(1, 2) == 3
    file.write_text("def make(i, o):\n    return i * o\n", encoding="utf-8")
    assert describe(load_file(file).make) != first


def test_remarks_travel_where_they_are_asked_for():
    tree = Tree(Leaf(remark="a"), (Leaf(size=3, remark="b"),), anything={"inside": Leaf(remark="c")})
    assert "remark" not in canonical_json(tree)
    said = json.loads(json.dumps(describe(tree, remarks=True)))
    back = build(said)
    assert (back.leaf.remark, back.leaves[0].remark, back.anything["inside"].remark) == ("a", "b", "c")
    assert digest(back) == digest(tree)
    unsayable = Tree(Leaf(), comment={1, 2})
    assert "comment" not in describe(unsayable, remarks=True)["fields"]


@dataclass(frozen=True)
class Grown(Component):
    size: int = 2
    leaf: Leaf = later(Leaf(4))
    rate: float = later(1)


def test_a_field_added_later_counts_only_with_another_value():
    old = {"class": class_name(Grown), "revision": 1, "source": fingerprint(Grown), "fields": {"size": 2}}
    assert describe(Grown()) == old
    assert describe(Grown(2, Leaf(4, 0.5), 1.0)) == old
    assert describe(Grown(rate=2))["fields"] == {"size": 2, "rate": 2.0}
    assert len({digest(Grown(leaf=leaf)) for leaf in (Leaf(4), Leaf(), Leaf(4, 0.25))}) == 3
    for value in (Grown(), Grown(3, Leaf(1), 2.5)):
        assert through_text(value) == value


def test_two_components_cannot_have_one_name():
    with pytest.raises(
        TypeError, match=r"beyondkernels\.networks\.elsewhere and .* cannot both define networks\.TwoLayer"
    ):
        type("TwoLayer", (Component,), {"__module__": "beyondkernels.networks.elsewhere"})
    assert build(describe(TwoLayer(3))) == TwoLayer(3)


def test_nothing_is_imported_because_a_description_names_it(tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text("raise SystemExit('it ran')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    refused(r"^'planted:Thing' is not a component of", build, {"class": "planted:Thing", "revision": 1, "fields": {}})
    refused(r"can be found: no file", build, {"class": "beyondkernels_user.absent:Thing", "revision": 1, "fields": {}})
    refused(r"^'planted:thing' is not a function of this package or of a loaded", build, {"function": "planted:thing"})


@pytest.mark.parametrize(
    "path", ["os:system", "os.system", "builtins:eval", "core.sys.exit", "core.components", "beyondkernels.core"]
)
def test_only_own_functions_are_found(path):
    refused(f"{path}.* (is not a function|can be found)", build, {"function": path})


def test_what_is_foreign_is_admitted_by_name():
    value = Tree(Leaf(), function=math.sqrt, anything=(SmoothedTruncatedReLU(0.1), {"a": Outer.Inner()}))
    here = f"{__name__}:"
    assert foreign(describe(value)) == {"math:sqrt", f"{here}Tree", f"{here}Leaf", f"{here}Outer.Inner"}
    refused("'operator:add' is not a function", build, {"function": "operator:add"})
    admit("operator:add")
    assert build({"function": "operator:add"})(1, 2) == 3
    admit("nowhere_at_all:thing")
