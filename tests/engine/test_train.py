"""The engine: the same numbers alone and in company, stages, divergence, batch orders."""

from dataclasses import dataclass, replace

import pytest
import torch

from beyondkernels.algorithms import FeatureLearning, GradientDescent, ProcessSettings, Stage, StepSettings
from beyondkernels.core import Case, Stream
from beyondkernels.engine import Member, TrainedNetwork, train
from beyondkernels.learning import fit
from beyondkernels.networks import FromModule, Symmetric, TwoLayer
from beyondkernels.papers.features import DictionaryParity, theorem26
from fitting import case_of
from stepping import assert_same, started as begun

PROBLEM = DictionaryParity(dim=12, patterns=8, relevant=3)
NETWORK = TwoLayer(pairs=7)
PROCESS = theorem26(PROBLEM, NETWORK, steps=9, batch=16, readout_rate=5.0)
IGNORE = lambda _: None  # noqa: E731


def case(seed: int, n: int = 100) -> Case:
    return case_of(PROBLEM, n, 50, seed)


def learner(network=NETWORK, algorithm=None, **fields) -> TrainedNetwork:
    algorithm = algorithm or FeatureLearning(PROCESS)
    return TrainedNetwork(
        network, algorithm, record_at=(1, 2, 5), snapshot_at=(0, 2, 9), snapshot_names=("hidden.weight",), **fields
    )


def test_members_with_other_numbers_and_other_programs_share_a_call():
    faster = replace(PROCESS, later=replace(PROCESS.later, output_rate=7.0))
    learners = [
        learner(),
        learner(algorithm=FeatureLearning(faster)),
        learner(algorithm=FeatureLearning(PROCESS, freeze_hidden_after=2)),
        learner(algorithm=FeatureLearning(PROCESS, freeze_hidden_after=0)),
        TrainedNetwork(NETWORK, GradientDescent(steps=4, learning_rate=0.1, batch=10)),
    ]
    cases = [case(seed) for seed in range(len(learners))]
    together = TrainedNetwork.fit_together(learners, cases, IGNORE)
    for one, where, outcome in zip(learners, cases, together, strict=True):
        assert_same(one.fit(where, IGNORE), outcome)
    assert together[0].scalars != together[1].scalars


def test_a_diverging_member_is_marked_and_the_others_go_on():
    huge = StepSettings(1e30, 1e30)
    bad = FeatureLearning(ProcessSettings(Symmetric(1, 1, 1), huge, huge, huge, steps=9, batch=16))
    outcomes = TrainedNetwork.fit_together([learner(algorithm=bad), learner()], [case(0), case(1)], IGNORE)
    assert outcomes[0].status == "diverged"
    assert "test_accuracy" not in outcomes[0].scalars
    assert outcomes[0].scalars["steps"] < 9
    assert_same(outcomes[1], learner().fit(case(1), IGNORE))


def test_members_with_and_without_drawn_noise_do_not_share_it():
    quiet = replace(PROCESS, first=replace(PROCESS.first, noise_std=0.0), second=replace(PROCESS.second, noise_std=0.0))
    learners = [learner(algorithm=FeatureLearning(process, noise_kind="drawn")) for process in (quiet, PROCESS, quiet)]
    together = TrainedNetwork.fit_together(learners, [case(0)] * 3, IGNORE)
    for one, outcome in zip(learners, together, strict=True):
        assert_same(one.fit(case(0), IGNORE), outcome)
    assert (together[0].arrays["snapshot/2/hidden.weight"] != together[1].arrays["snapshot/2/hidden.weight"]).any()


def next_points(member: Member) -> torch.Tensor:
    rows = member.rows(0, 1)
    assert rows is not None
    return member.sample.x[rows[0]]


def test_a_stage_entered_again_has_new_batches():
    @dataclass(frozen=True)
    class Loop(GradientDescent):
        def stages(self):
            return (Stage("up", 2, 10), Stage("down", 2, 10))

        def transition(self, view):
            return view.enter(1 - view.stage)

    member, seen = started(Loop(8, 0.1)), []
    for step in range(8):
        seen.append(float(next_points(member).sum()))
        train([member], [frozenset()], IGNORE, until=step + 1)
    assert len(set(seen)) == 8


def test_the_record_is_what_it_says():
    outcome = learner(record_points=20).fit(case(0), IGNORE)
    assert outcome.series["step"].tolist() == [1, 2, 5]
    assert outcome.scalars["steps"] == 9
    assert set(outcome.arrays) == {f"snapshot/{step}/hidden.weight" for step in (0, 2, 9)}
    assert set(outcome.series) == {"step", "train_loss", "train_accuracy", "test_loss", "test_accuracy"}


def test_an_epoch_visits_every_point_once():
    member = begun(NETWORK, GradientDescent(steps=20, learning_rate=0.1, batch=25), case(0).train, Stream(1))
    seen = []
    for step in range(8):
        member.steps_in_stage = step
        seen.append(next_points(member))
    whole = case(0).train.x
    for epoch in (torch.cat(seen[:4]), torch.cat(seen[4:])):
        assert torch.equal(epoch[epoch.sum(1).argsort()], whole[whole.sum(1).argsort()])
    assert not torch.equal(torch.cat(seen[:4]), torch.cat(seen[4:]))


def started(rule, seed=0) -> Member:
    return begun(NETWORK, rule, case(seed).train, Stream(seed))


def make_module(in_dim: int, out_dim: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(in_dim, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, out_dim))


def test_a_users_module_trains_one_after_the_other():
    network = FromModule(make_module, "small")
    rule = GradientDescent(steps=30, learning_rate=0.1, batch=20)
    learners = [TrainedNetwork(network, rule), TrainedNetwork(network, rule)]
    together = TrainedNetwork.fit_together(learners, [case(0), case(1)], IGNORE)
    assert_same(together[1], learners[1].fit(case(1), IGNORE))
    assert together[0].scalars["train_loss"] < 1


def make_random_module(in_dim: int, out_dim: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(in_dim, out_dim))


def test_what_a_module_draws_comes_from_the_seed_of_the_run():
    network, rule = FromModule(make_random_module, "noisy"), GradientDescent(12, 0.1, batch=10)
    torch.rand(3)  # whatever happened to the global generator
    first = fit(network, PROBLEM, n=50, algorithm=rule)
    before = torch.get_rng_state()
    again, other = (fit(network, PROBLEM, n=50, algorithm=rule, seed=seed) for seed in (0, 1))
    assert torch.equal(before, torch.get_rng_state())
    assert first.train_loss == again.train_loss != other.train_loss
    params, buffers = network.init(12, 1, Stream(0))
    x = torch.ones(40, 12)
    outs = []
    for _ in range(2):
        out, buffers = network.apply(params, buffers, x, train=True)
        outs.append(out)
    assert not torch.equal(*outs)
    assert torch.equal(network.apply(params, buffers, x)[0], network.apply(params, buffers, x)[0])


def test_a_module_sees_its_batch_whole(monkeypatch):
    from beyondkernels.algorithms import gradient

    rule = GradientDescent(steps=3, learning_rate=0.1)
    whole = TrainedNetwork(FromModule(make_module, "small"), rule).fit(case(0), IGNORE)
    monkeypatch.setattr(gradient, "BLOCK", 7)
    assert_same(whole, TrainedNetwork(FromModule(make_module, "small"), rule).fit(case(0), IGNORE))


def test_ensembles_only_where_they_pay():
    assert learner(TwoLayer(pairs=300)).members_at_once(50_000, 500) == 1
    assert learner(TwoLayer(pairs=4)).members_at_once(100, 12) > 4


GOLDEN_WEIGHTS, GOLDEN_LOSS = 6.2394022941589355, 0.6269158267229795


def test_golden_numbers_of_this_revision():
    """A change here is a new revision of a component, or a mistake."""
    run = fit(NETWORK, PROBLEM, n=200, algorithm=FeatureLearning(PROCESS), seed=0, test=100)
    weights = fit(
        NETWORK, PROBLEM, n=200, algorithm=FeatureLearning(PROCESS), snapshot_at=(9,), snapshot_names=("hidden.weight",)
    ).outcome.arrays["snapshot/9/hidden.weight"]
    assert run.steps == 9
    assert float(abs(weights).sum()) == pytest.approx(GOLDEN_WEIGHTS, rel=1e-4)
    assert run.train_loss == pytest.approx(GOLDEN_LOSS, rel=1e-4)


def test_recording_changes_nothing():
    bare = TrainedNetwork(NETWORK, FeatureLearning(PROCESS)).fit(case(0), IGNORE)
    assert bare.scalars == learner().fit(case(0), IGNORE).scalars
