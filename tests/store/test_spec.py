import dataclasses
import hashlib
import json

import beyondkernels as bk
from beyondkernels.core import describe, digest
from beyondkernels.core.fingerprints import fingerprint
from beyondkernels.store import RunSpec, is_key, key_of


def test_key_is_pinned():
    kernel = bk.kernels.Laplace(1.0)
    spec = RunSpec(bk.resnet.HardInstance(6, 2, 0.3), bk.kernels.TwoStepRidge(kernel, kernel), 50, 20, 3)
    assert spec.key == "fa0e093c615cabfff1e463d8ea5d4063", (
        "a changed key makes every stored run worthless: was that meant?"
    )


def test_key_is_the_hash_of_canonical_json_written_by_hand(toys):
    spec = RunSpec(toys.Line(dim=2, slope=0.1), toys.Diverging(), 50, 20, 3)
    learner, problem = (f'"revision":1,"source":"{fingerprint(cls)}"' for cls in (toys.Diverging, toys.Line))
    by_hand = (
        '{"class":"store.RunSpec","fields":{'
        f'"learner":{{"class":"beyondkernels_user.toys:Diverging","fields":{{}},{learner}}},'
        '"measurements":[],'
        f'"problem":{{"class":"beyondkernels_user.toys:Line","fields":{{"dim":2,"slope":0.1}},{problem}}},'
        '"samples":50,"seed":3,"test_samples":20},"revision":1}'
    )
    assert json.loads(by_hand) == describe(spec)
    whole = hashlib.sha256(by_hand.encode()).hexdigest()[:32]
    assert whole == key_of(describe(spec)) == digest(spec)
    assert spec.witness is not None
    assert spec.key == whole[:20] + spec.witness["digest"][:12]  # the problem is the user's own
    assert is_key(spec.key)


def test_key_changes_with_every_field(toys):
    spec = RunSpec(toys.Line(), toys.Mean(), 50, 20, 3)
    others = [
        dataclasses.replace(spec, problem=toys.Line(slope=2.0)),
        dataclasses.replace(spec, learner=toys.Mean(label="x")),
        dataclasses.replace(spec, learner=toys.Allocating()),
        dataclasses.replace(spec, samples=51),
        dataclasses.replace(spec, test_samples=21),
        dataclasses.replace(spec, seed=-1),
        dataclasses.replace(spec, measurements=(toys.Doubled(),)),
    ]
    assert len({spec.key, *(other.key for other in others)}) == 8
    assert dataclasses.replace(spec, problem=toys.Line(slope=1)).key == spec.key  # an int in a float field is a float
