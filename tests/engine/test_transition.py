"""What a transition may do, by a rule that does all of it; the same bits alone, in company, and after interruptions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import pytest
import torch

from beyondkernels.algorithms import Algorithm, GradientDescent, Hinge, MemberView, Squared, Transition
from beyondkernels.core import Case, Checkpoint, DivergedError, InputError, Sample
from beyondkernels.engine import Member, TrainedNetwork, train
from beyondkernels.networks import FullyConnected, Network, TwoLayer
from beyondkernels.papers.resnet.problems import CompositeParity
from fitting import case_of
from growing import Factored, Growing
from interrupted import EndedError, Kept
from refusals import refused
from stepping import assert_same, started as begun

IGNORE = lambda _: None  # noqa: E731
PROBLEM = CompositeParity(8, 4, 0.3)
NETWORK = Factored(10)
RULE = Growing(GradientDescent(40, 0.02, 10, 0.9, loss=Squared()), enough=4.0)


def case(seed: int, checkpoint: Checkpoint | None = None) -> Case:
    return case_of(PROBLEM, 60, 30, seed, checkpoint=checkpoint)


def started(rule: Algorithm = RULE, network: Network = NETWORK, seed: int = 0) -> Member:
    where = case(seed)
    return begun(network, rule, where.train, where.stream)


def history(members: list[Member]) -> list[dict[int, Member]]:
    """Every member after every step."""
    seen: list[dict[int, Member]] = [{} for _ in members]
    places = {id(member): i for i, member in enumerate(members)}

    def look(member: Member) -> None:
        seen[places[id(member)]][member.step] = replace(member)

    with torch.no_grad():
        train(members, [frozenset(range(100))] * len(members), look)
    return seen


def same(one: Member, other: Member) -> None:
    assert (one.step, one.stage_index, one.stage_entered, one.check_at) == (
        other.step, other.stage_index, other.stage_entered, other.check_at
    )  # fmt: skip
    for part in ("params", "buffers", "optimiser"):
        ours, theirs = getattr(one, part), getattr(other, part)
        assert list(ours) == list(theirs)
        assert all(torch.equal(ours[name], theirs[name]) for name in ours), part


def test_a_layer_is_factored_when_the_objective_is_small_enough():
    (seen,) = history([started()])
    left = min(step for step, member in seen.items() if member.stage_index == 1)
    assert 4 < left < 40
    assert left % 4 == 0  # asked every four steps, and only then
    for step in (left - 4, left):  # the last of the first stage are taken once more, without a transition
        member = started(replace(RULE, enough=0.0))
        train([member], [frozenset()], IGNORE, until=step)
        assert (member.view().objective() < 4.0) == (step == left)
    assert member.params.keys() == {"W", "a"}
    after, W = seen[left], member.params["W"]
    values = torch.linalg.svdvals(W)
    rank = int((values >= 0.3 * values[0]).sum())
    assert 1 < rank < 8
    assert {name: tuple(v.shape) for name, v in after.params.items()} == {
        "down": (rank, 8),
        "up": (10, rank),
        "a": (4, 10),
    }
    cut = W - after.params["up"] @ after.params["down"]
    assert float(torch.linalg.matrix_norm(cut, 2)) == pytest.approx(float(values[rank]), rel=1e-4)
    assert {name: v.shape for name, v in after.optimiser.items()} == {n: v.shape for n, v in after.params.items()}
    assert all(not value.any() for value in after.optimiser.values())


def test_random_times_are_those_that_were_drawn():
    (seen,) = history([started()])
    steps = [step for step, member in seen.items() if member.stage_index == 1]
    jumps = [step for step in steps[1:] if int(seen[step].buffers["times"]) > int(seen[step - 1].buffers["times"])]
    expected, at = [], steps[0]
    stream = case(0).stream.child("transition")
    while (at := at + 1 + int(stream.at(at).child("wait").integers(5))) < steps[0] + 40:
        expected.append(at)
    assert jumps == expected
    assert len({b - a for a, b in itertools.pairwise(jumps)}) > 2
    assert float(seen[steps[-1]].buffers["scale"]) == pytest.approx(0.99 ** len(jumps))


def test_alone_and_in_company():
    """Members leave the first stage at different steps and with different ranks: groups form and dissolve."""
    rules = [RULE, replace(RULE, enough=4.3), replace(RULE, least=0.6), RULE, replace(RULE, enough=100.0)]
    alone = [history([started(rule, seed=seed)])[0] for seed, rule in enumerate(rules)]
    together = history([started(rule, seed=seed) for seed, rule in enumerate(rules)])
    assert len({min(step for step, m in each.items() if m.stage_index == 1) for each in alone}) > 2
    assert len({m.params["up"].shape for each in alone for m in each.values() if "up" in m.params}) > 2
    for one, other in zip(alone, together, strict=True):
        assert one.keys() == other.keys()
        for step in one:
            same(one[step], other[step])


def test_members_of_one_shape_go_on_as_one():
    one, other = started(replace(RULE, enough=100.0)), started(replace(RULE, enough=100.0), seed=3)
    train([one, other], [frozenset()] * 2, IGNORE, until=4)
    ranks = {member.params["up"].shape[1] for member in (one, other)}
    assert (one.group() == other.group()) == (len(ranks) == 1)
    twin = started(replace(RULE, enough=100.0, draws=9))
    train([twin], [frozenset()], IGNORE, until=4)
    assert twin.group() == one.group()
    twin.optimiser = {name: value.double() for name, value in twin.optimiser.items()}
    assert twin.group() != one.group()


@pytest.mark.parametrize("moment", [1, 4, 6, 9, 12])
def test_interrupted_and_resumed_alone_and_in_company(moment):
    """In the first stage, between random times, and shortly before the choice at the end."""
    looks = (3, 7, 19, 23, 26, 29, 35, 41, 46, 50, 53, 57)
    learner = TrainedNetwork(NETWORK, RULE, looks, snapshot_at=(0, 30), snapshot_names=("up", "W"))
    whole = [learner.fit(case(seed), IGNORE) for seed in range(2)]
    assert [set(outcome.arrays) for outcome in whole] == [{"snapshot/0/W", "snapshot/30/up"}] * 2
    for company in (False, True):
        kept = Kept(moment)
        with pytest.raises(EndedError):
            learner.fit(case(0, kept), IGNORE)
        kept.most = float("inf")
        cases = [case(0, kept), case(1)] if company else [case(0, kept)]
        for outcome, expected in zip(
            TrainedNetwork.fit_together([learner] * len(cases), cases, IGNORE), whole, strict=False
        ):
            assert_same(outcome, expected)


def test_a_snapshot_of_all_holds_what_there_is_at_each_step():
    learner = TrainedNetwork(NETWORK, RULE, snapshot_at=(0, 30), snapshot_names=("all",))
    arrays, seen = learner.fit(case(0), IGNORE).arrays, history([started()])[0][30]
    assert {name for name in arrays if "/0/" in name} == {"snapshot/0/W", "snapshot/0/a"}
    later = {"up": seen.params["up"], "down": seen.params["down"], "a": seen.params["a"]}
    later |= {f"buffers/{name}": seen.buffers[name] for name in ("scale", "times")}
    assert {name for name in arrays if "/30/" in name} == {f"snapshot/30/{name}" for name in later}
    for name, value in later.items():
        assert arrays[f"snapshot/30/{name}"].dtype == value.numpy().dtype
        assert (arrays[f"snapshot/30/{name}"] == value.numpy()).all(), name


def test_a_single_buffer_can_be_kept():
    names = ("buffers/scale", "a")
    network = replace(NETWORK, width=4)
    with pytest.raises(InputError, match=r"^unknown parameter in snapshot_names 'buffers/scale'"):
        TrainedNetwork(network, RULE, snapshot_at=(30,), snapshot_names=names).fit(case(0), IGNORE)

    class Scaled(Growing):
        def later_parameters(self, network: Network) -> tuple[str, ...]:
            return (*super().later_parameters(network), "buffers/scale")

    rule = Scaled(RULE.rule, enough=4.0)
    outcome = TrainedNetwork(NETWORK, rule, snapshot_at=(0, 30), snapshot_names=names).fit(case(0), IGNORE)
    assert set(outcome.arrays) == {"snapshot/0/a", "snapshot/30/a", "snapshot/30/buffers/scale"}


def test_a_state_saved_before_times_could_be_chosen_is_still_good():
    from beyondkernels.engine.state import restore, saved_state

    member, other = started(), started()
    train([member], [frozenset()], IGNORE, until=3)
    state = saved_state(member, {})
    del state.facts["counts"]["check_at"]
    assert restore(other, state) is not None
    same(member, other)


def test_the_objective_is_the_mean_loss():
    member = started(GradientDescent(3, 0.1, loss=Squared()), FullyConnected(5))
    view, sample = member.view(), case(0).train
    out = member.network.apply(member.params, {}, sample.x)[0].double()
    expected = [
        sum((p - q) ** 2 for p, q in zip(a, b, strict=True))
        for a, b in zip(out.tolist(), sample.y.tolist(), strict=True)
    ]
    assert view.objective() == pytest.approx(sum(expected) / 60)
    few = Sample(sample.x[:7], sample.y[:7])
    assert view.objective(points=few) == pytest.approx(sum(expected[:7]) / 7)
    twice = {name: 2 * value for name, value in view.params.items()}
    out = member.network.apply(twice, {}, few.x)[0]
    assert view.objective(twice, points=few) == pytest.approx(float((out - few.y).square().sum(1).mean()))
    scaled = started().view()
    assert scaled.objective(buffers={"scale": torch.zeros(())}) == pytest.approx(float(sample.y.square().sum(1).mean()))
    flat = started(GradientDescent(3, 0.1), TwoLayer(4))
    flat = replace(flat, sample=Sample(sample.x, torch.ones(60)))
    flat.start(8, 1)
    out = flat.network.apply(flat.params, {}, sample.x)[0]
    assert flat.view().objective() == pytest.approx(float(Hinge().each(out, torch.ones(60)).mean()))


def test_the_start_can_be_drawn_again():
    member = started()
    first = {name: value.clone() for name, value in member.params.items()}
    history([member])
    member.stage_index = 1
    again, buffers = member.view().drawn_start()
    assert buffers == {}
    assert first.keys() == again.keys()
    assert all(torch.equal(first[name], value) for name, value in again.items())


def test_a_view_cannot_reach_the_member():
    member = started()
    view = member.view()
    view.params.clear()
    view.optimiser["more"] = torch.zeros(3)
    assert member.params.keys() == member.optimiser.keys() == {"W", "a"}


@dataclass(frozen=True)
class Odd(GradientDescent):
    """Answers as it is told, after two steps."""

    answer: str = "end"

    def transition(self, view: MemberView) -> Transition:
        if self.answer == "give up":
            raise DivergedError("there is no root of a negative number")
        return {
            "end": view.end(),
            "elsewhere": view.enter(7),
            "at once": view.stay(check_after=0),
            "numbers": view.end({"W": 3.0}),  # pyright: ignore[reportArgumentType]
            "infinite": view.end({name: value / 0 for name, value in view.params.items()}),
            "transposed": view.end({name: value.mT.mT.t().contiguous().t() for name, value in view.params.items()}),
        }[self.answer]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("elsewhere", "the transition of Odd must go to one of its 1 stages or to None, got 7"),
        ("at once", "stage 'descent' has had its 2 steps and cannot go on"),
        ("numbers", r"a transition must give tensors, got params\['W'\] = 3.0"),
    ],
)
def test_sentences(answer, sentence):
    refused(f"^{sentence}$", train, [started(Odd(2, 0.1, loss=Squared(), answer=answer))], [frozenset()], IGNORE)


def test_asking_at_once_again_is_refused():
    @dataclass(frozen=True)
    class Hasty(GradientDescent):
        def transition(self, view: MemberView) -> Transition:
            return view.stay(check_after=0)

        def stages(self):
            return (replace(super().stages()[0], check_every=1),)

    sentence = "the transition of Hasty must be asked again after at least one step, got check_after=0"
    refused(f"^{sentence}$", train, [started(Hasty(2, 0.1, loss=Squared()))], [frozenset()], IGNORE)


@pytest.mark.parametrize("answer", ["give up", "infinite"])
def test_a_member_may_diverge_in_a_transition_and_the_others_go_on(answer):
    bad, good = (started(Odd(2, 0.1, loss=Squared(), answer=which)) for which in (answer, "end"))
    train([bad, good], [frozenset()] * 2, IGNORE)
    assert (bad.diverged, good.diverged, good.step) == (True, False, 2)


def test_what_a_transition_gives_is_laid_out_in_one_way():
    member = started(Odd(2, 0.1, loss=Squared(), answer="transposed"))
    train([member], [frozenset()], IGNORE)
    assert all(value.is_contiguous() for value in member.params.values())
