"""Plans for several devices: what is found, and what is proven of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tilewright as tw
from tilewright.arch import load_arch
from tilewright.arch.system import MeshAxis, System, load_system
from tilewright.cost_models import parse_objective
from tilewright.ir import InfeasibleError, TilewrightError
from tilewright.ir.sharding import PARTIAL, Split
from tilewright.mapper.fusing import answer_below
from tilewright.mapper.means import UNLIMITED
from tilewright.mapper.segmentation.searching import OneAfterTheOther
from tilewright.mapper.sharding import (
    DeviceCosts,
    DeviceRoom,
    DeviceWork,
    Resharding,
    ShardedAnswer,
    ShardingQuestion,
    SplitCost,
    shard,
)
from tilewright.mapper.sharding.search import PlanSearch


def question_of(network: str, system: str, objective: str = "latency", **more: object) -> ShardingQuestion:
    graph = tw.load_network(network).wiring
    assert graph is not None
    return ShardingQuestion(graph, load_system(system), parse_objective(objective), "ragged", **more)  # type: ignore[arg-type]


def test_layers_of_a_recommendation_model() -> None:
    """Every step follows from those before; a reduction follows where a sum is dealt; the bound meets the value."""
    found = shard(question_of("dlrm_rmc1", "h100x8"))
    assert found.certificate.proven
    assert found.certificate.value == pytest.approx(found.seconds * found.question.system.device.clock_hz)
    held: dict[str, set[object]] = {}
    for step in found.steps:
        if isinstance(step, Resharding):
            assert step.before in held[step.tensor]
            held[step.tensor].add(step.after)
        else:
            held[step.name] = {found.shardings[step.name][0]}
    assert held == {name: set(own) for name, own in found.shardings.items() if name in held}
    works = [step for step in found.steps if isinstance(step, DeviceWork)]
    assert [work.name for work in works] == list(dict.fromkeys(work.name for work in works))
    assert PARTIAL not in found.shardings[works[-1].name][-1]


def test_fixed_splits() -> None:
    """A split that is given is kept, and costs no less than the best; one that an operation has not is refused."""
    free = shard(question_of("dlrm_rmc1", "h100x8"))
    found = shard(question_of("dlrm_rmc1", "h100x8", fixed={"bot1": ("K",)}))
    assert next(s.split for s in found.steps if isinstance(s, DeviceWork) and s.name == "bot1") == ("K",)
    assert found.certificate.value >= free.certificate.value
    with pytest.raises(TilewrightError, match="split"):
        shard(question_of("dlrm_rmc1", "h100x8", fixed={"bot1": ("Z",)}))


class BoundsAsCosts(DeviceCosts):
    """Costs of devices that are their bounds."""

    def cost(self, name: str, split: Split) -> SplitCost:
        found = super().cost(name, split)
        return replace(found, value=found.bound, seconds=found.bound, energy_pj=0.0)

    def is_open(self, name: str, split: Split, below: float) -> bool:
        return False


def by_bounds(network: str, system: System) -> ShardedAnswer:
    graph = tw.load_network(network).wiring
    assert graph is not None
    question = ShardingQuestion(graph, system, parse_objective("latency"), "ragged")
    return PlanSearch(question, BoundsAsCosts(question, OneAfterTheOther(answer_below), UNLIMITED)).run()


def test_weights_that_have_no_room() -> None:
    """Where links are slow, devices hold all weights, if they have room; else fewer, and it takes longer."""
    axes = (MeshAxis("x", "ring", 8, 25e9, 1e-6),)
    found = [
        by_bounds("llama3_8b_block", System("ring", load_arch("h100", {"HBM.size": f"{size} MiB"}), axes))
        for size in (4096, 300)
    ]
    roomy, tight = found
    assert roomy.certificate.proven
    assert roomy.memory.used > 300 * 2**20
    assert tight.memory.used <= 300 * 2**20
    assert roomy.certificate.value < tight.certificate.value
    assert roomy.certificate.value <= tight.certificate.lower_bound * (1 + 1e-9)


@pytest.mark.parametrize("network", ["gpt3_6_7b_block", "llama3_8b_block"])
def test_blocks_on_two_axes(network: str) -> None:
    """A block of a transformer is proven by relaxed tables, whatever the axes."""
    axes = (MeshAxis("x", "switch", 8, 450e9, 1e-6), MeshAxis("y", "ring", 4, 25e9, 1e-6))
    found = by_bounds(network, System("mesh", load_arch("h100"), axes))
    assert found.certificate.proven
    assert found.certificate.value == pytest.approx(found.seconds * found.question.system.device.clock_hz)


def test_energies_that_nobody_states() -> None:
    with pytest.raises(TilewrightError, match="energy of a hop"):
        shard(question_of("dlrm_rmc1", "h100x8", "energy"))


def test_usual_plans_stand_beside_the_best() -> None:
    """None of them is faster; one device does every operation whole. Where nothing fits, that is said first."""
    asked = question_of("dlrm_rmc1", "h100x8")
    found = shard(asked)
    compared = {one.name: one for one in found.compared}
    assert list(compared) == ["one device", "data parallel", "Megatron"]
    assert all(one.seconds >= found.seconds * (1 - 1e-9) for one in found.compared if one.seconds is not None)
    whole = shard(replace(asked, fixed={step.name: (None,) for step in found.steps if isinstance(step, DeviceWork)}))
    assert compared["one device"].seconds == pytest.approx(whole.seconds)
    assert (compared["Megatron"].seconds, compared["Megatron"].why) == (None, "no attention between products is found")
    room = DeviceRoom(asked.graph, asked.system)
    splits = {step.name: step.split for step in found.steps if isinstance(step, DeviceWork)}
    assert found.memory.weights == sum(room.weights(name, split) for name, split in splits.items())
    assert found.memory.size == 80 * 2**30
    small = load_system("h100x8", set={"device.HBM.size": "1 kB"})
    with pytest.raises(InfeasibleError, match=r"takes .* of each device at least"):
        shard(replace(asked, system=small))
