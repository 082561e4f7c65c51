"""No bound that a search computes on its way to a mapping lies above what the mapping costs."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import brute_force
import longer
from generators import random_architecture, random_problem, windows_below_arrays, with_wide_sums
from paths import Step, context_of, random_uneven, steps_to
from tilewright.arch import Architecture, Fanout, Memory
from tilewright.cost_models import OBJECTIVES, Cost, evaluate, parse_objective
from tilewright.ir import Mapping, MappingError, Problem
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.constraints.violations import loops_by_memory, violations
from tilewright.mapper.effort import EFFORT
from tilewright.mapper.exact.bounds.array_groups import group_of
from tilewright.mapper.exact.bounds.bounds import Bounds
from tilewright.mapper.exact.bounds.table_columns import TableColumns
from tilewright.mapper.exact.growing.array_choices import ArrayChoices, ArrayPlans
from tilewright.mapper.exact.growing.context import SearchContext
from tilewright.mapper.exact.growing.fanouts import groups_of
from tilewright.mapper.exact.growing.placements import OpenPlacement, Placements
from tilewright.mapper.exact.question.canonical import canonical_problem
from tilewright.mapper.exact.question.hierarchy import Placement
from tilewright.mapper.exact.rows import Flags, Floats, Rows
from tilewright.mapper.space import SPACES
from tilewright.mapper.tilings import TILINGS

SLACK = 1 + 1e-9


def columns_of(cost: Cost, context: SearchContext) -> Floats:
    """The columns of a mapping: energy, the cycles of every port's memory, and the sums of both."""
    cost_columns, cycles = context.costs.cost_columns, {m.name: m.cycles for m in cost.memories}
    ports = [cycles[port.memory.name] for port in cost_columns.ports]
    joint = (
        [] if cost_columns.exchange_rate is None else [cost.energy_pj + cost_columns.exchange_rate * c for c in ports]
    )
    return np.array([[cost.energy_pj], *([c] for c in ports), *([c] for c in joint)])


def grown(step: Step, context: SearchContext, dims: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The tiles of a stage whose dimensions are decided one after the other."""
    tile = step.stage.copy()
    yield tile
    for d in dims:
        tile = tile.copy()
        tile[:, d] = step.tile[:, d]
        yield tile


def bounds_at(step: Step, last: bool, context: SearchContext, bounds: Bounds, rng: random.Random) -> Iterator[Floats]:
    """Bounds on what lies above a step; `last`: where free loops end."""
    first = np.zeros(1, dtype=np.int64)
    yield bounds.at(bounds.table(step.state), step.tile, first)
    if not last or context.hierarchy.at_fanout(step.state):
        return
    limits, state = context.limits, step.state
    groups = limits.groups.get(state.loops_at, ())
    behind = frozenset[int]().union(*groups[: state.groups_behind])
    free = [d for d in bounds.moves.free(state.waiting) if d not in behind]
    rng.shuffle(free)
    free.sort(key=lambda d: not limits.in_order(state, d))  # those of the groups to come are later
    cut = rng.randint(0, sum(limits.in_order(state, d) for d in free))
    tables = bounds.growing(step.state, tuple(free[:cut]), tuple(free[cut:]))
    passed = step.state.passed
    for near, far, tile in zip(tables.near, tables.far, grown(step, context, tuple(free[:cut])), strict=True):
        above = tile
        for array in step.rows.arrays[passed : passed + tables.fanouts]:
            above = np.minimum(above * array, context.sizes)
        yield sum(bounds.at(table, at, first) for table, at in ((near, tile), (far, above)) if table is not None)


def check_path(mapping: Mapping, cost: Cost, context: SearchContext, rng: random.Random) -> list[Step]:
    """All tables along a mapping's path: those for any arrays, and, over every lattice, those for its own."""
    steps, most = list(steps_to(mapping, context)), columns_of(cost, context) * SLACK
    arrays, root = steps[0].rows.arrays, context.bounds
    some_ports = TableColumns.of(root.columns.rows, root.columns.rows.ports[::2])
    groups = [
        root,
        context.groups.rough(),
        Bounds(root.hierarchy, root.footprints, root.lattice, some_ports, moves=root.moves),
    ]
    group: Bounds | None = context.groups.of(group_of(context.hierarchy, context.tiling, arrays))
    while group is not None:
        groups += [group, context.groups.of_one(group, [array[0] for array in arrays])]
        group = context.groups.finer(group)
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        costs = step.costs(context)
        if after is None:
            assert (costs <= most).all()
            break
        last = after.state != step.state
        for bounds in groups:
            for ahead in bounds_at(step, last, context, bounds, rng):
                assert (costs + ahead <= most).all(), (str(mapping), step.state, step.tile.tolist())
    return steps


def check_start(step: Step, cost: Cost, context: SearchContext, plans: ArrayPlans) -> bool:
    """The bounds of the mapping's placement, undecided and decided, and those of its arrays, the more of them are
    decided; whether these are among the plans."""
    choices, chains = Placements(context), step.path.placement
    for name in OBJECTIVES:
        context.objective = parse_objective(name)
        most = cost.objective(name) * SLACK
        for bound, choice in ways_to(choices, chains):
            assert bound <= most, choice.chains
        started = plans.start(chains, float("inf"))
        while isinstance(started, ArrayChoices) and (own := same_arrays(started.rows, step.rows)).any():
            assert (started.bound[own] <= most).all()
            known = started.take(np.flatnonzero(own))
            (started,) = plans.further(known, float("inf"))
            (hopeful,) = plans.further(known, most * SLACK)
            assert same_arrays(hopeful.rows, step.rows).any() == same_arrays(started.rows, step.rows).any()
        planned = same_arrays(started.rows, step.rows)
        assert planned.any() or context.tiling == "ragged"
        assert (started.bound[planned] <= most).all()
        assert not planned.any() or plans.first_bound(chains) <= most
    return bool(planned.any())


def ways_to(choices: Placements, chains: Placement) -> Iterator[tuple[float, OpenPlacement]]:
    """A placement, the more of it is decided."""
    choice, bound = choices.root(), choices.bound(choices.root())
    while not choices.is_complete(choice):
        yield bound, choice
        bound, choice = next(
            (value, way)
            for value, way in choices.further(choice)
            if all(own == held[: len(own)] for own, held in zip(way.chains, chains, strict=False))
        )
    yield bound, choice


def same_arrays(rows: Rows, own: Rows) -> Flags:
    """(rows,) which of the rows have the arrays of one."""
    same = np.ones(len(rows), dtype=bool)
    for arrays, wanted in zip(rows.arrays, own.arrays, strict=False):  # the first few may be decided, or all
        same &= (arrays == wanted[0]).all(axis=1)
    return same


def mappings_that_fit(mappings: Iterator[Mapping], arch: Architecture) -> Iterator[tuple[Mapping, Cost]]:
    for mapping in mappings:
        try:
            yield mapping, evaluate(mapping, arch)
        except MappingError:
            continue


MOST_MAPPINGS = 160


@pytest.mark.parametrize("seeds", longer.blocks(60, 20))
def test_every_mapping_of_small_spaces(seeds: range) -> None:
    """Half of the time placements and arrays are decided in as many steps as possible."""
    found: Counter[str] = Counter()
    for seed in seeds:
        effort = EFFORT if seed % 2 else replace(EFFORT, many=1, some=0)
        rng = random.Random(seed)
        original, machine = random_problem(rng, 3), random_architecture(rng, rng.randint(0, 2), capacity=24)
        ragged, space, rate = rng.random() < 0.5, rng.choice(SPACES), rng.choice([None, 0.3, 3.0, 30.0])
        machine = with_wide_sums(machine) if seed % 3 else machine
        reduction = canonical_problem(original, machine, TILINGS[ragged])
        problem, arch = reduction.problem, reduction.arch
        if brute_force.count_uneven(problem, arch, TILINGS[ragged], MOST_MAPPINGS) >= MOST_MAPPINGS:
            continue
        every = {
            "even": brute_force.all_mappings(problem, arch, ragged),
            "uneven": brute_force.uneven_mappings(problem, arch, TILINGS[ragged]),
        }[space]
        context = context_of(problem, arch, TILINGS[ragged], space, rate, effort=effort)
        plans = ArrayPlans(context)
        for mapping, cost in mappings_that_fit(every, arch):
            steps = check_path(mapping, cost, context, rng)
            found["mappings"] += 1
            listed = check_start(steps[0], cost, context, plans)
            assert listed or ragged, "perfect arrays are all planned"
            found["planned"] += listed
    assert longer.occurs(found["mappings"] > 15)
    assert found["planned"] > 0.7 * found["mappings"] or not found["mappings"]


def test_groups_at_once_are_bounded_as_one_by_one() -> None:
    """Tables of several groups of arrays in one go are those of each group, bit for bit; and so are those of some of
    them."""
    compared = stacks = 0
    for seed in longer.seeds(24):
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 8), random_architecture(rng, rng.randint(1, 2))
        context = context_of(problem, arch, TILINGS[seed % 2], SPACES[seed % 3 > 0], rng.choice([None, 3.0]))
        plans = ArrayPlans(context)
        for placement in list(context.hierarchy.placements())[:2] if arch.fanouts else ():
            batch = plans.start(placement, float("inf"))
            rows = [batch.rows.take(index) for index in groups_of(context, batch)[:6]]
            groups = [group_of(context.hierarchy, context.tiling, each.arrays) for each in rows]
            state, rest, tile = (
                context.hierarchy.start(placement),
                iter(groups),
                np.ones((1, len(problem.dims)), np.int64),
            )
            for bounds in context.groups.of_several(groups, state):
                assert dict(bounds.memo.items()), "made already"
                stacks += bounds.arrays.stacked > 1
                for member, group in enumerate(itertools.islice(rest, bounds.arrays.stacked)):
                    alone, place = context.groups.of(group), np.array([member])
                    some = context.groups.some_of(bounds, place)
                    for tables in (Bounds.table, lambda b, s: b.beyond(s, 0)):
                        expected = alone.at(tables(alone, state), tile, np.array([0]))
                        assert (bounds.at(tables(bounds, state), tile, place) == expected).all(), seed
                        assert (tables(some, state) == tables(alone, state)).all(), seed
                    compared += 1
            assert next(rest, None) is None
    assert longer.occurs(compared > 100)
    assert longer.occurs(stacks > 10)


def constraints_of(rng: random.Random, mapping: Mapping, arch: Architecture) -> Constraints:
    """Some that a mapping satisfies: where it has no loops, and how they are ordered."""
    dims, temporal, orders = list(mapping.problem.dim_names), {}, {}
    for memory in (m.name for m in arch.memories):
        for dim in rng.sample(dims, len(dims) - 1):
            none = {(memory, dim): (1, 1)}
            temporal |= {} if violations(mapping, arch, Constraints(temporal=none)) else none
        for _ in range(3):
            shuffled, cut = rng.sample(dims, len(dims)), rng.randint(1, len(dims) - 1)
            order = {memory: (frozenset(shuffled[:cut]), frozenset(shuffled[cut : cut + 2]))}
            orders |= {} if violations(mapping, arch, Constraints(orders=order)) else order
    if rng.random() < 0.5:  # each of its loops a group
        for memory, loops in loops_by_memory(mapping, arch).items():
            order = {memory: tuple(frozenset([dim]) for dim in dict.fromkeys(loop.dim for loop in loops))}
            orders |= {} if violations(mapping, arch, Constraints(orders=order)) else order
    return Constraints(temporal=temporal, orders=orders)


@pytest.mark.long
@pytest.mark.parametrize("seeds", longer.blocks(60, 20))
def test_constrained_mappings(seeds: range) -> None:
    """Bounds know where constraints allow no loops, and which may not come yet."""
    checked = ordered = tighter = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 8), random_architecture(rng)
        if len(problem.dims) < 2:
            continue
        ragged, space = rng.random() < 0.5, rng.choice(SPACES)
        drawn: Iterator[Mapping] = (random_uneven(rng, problem, arch, ragged) for _ in range(4))
        if space == "even":
            drawn = itertools.islice(brute_force.all_mappings(problem, arch, ragged), rng.randint(0, 50), 4_000, 600)
        for mapping, cost in mappings_that_fit(drawn, arch):
            own = constraints_of(rng, mapping, arch)
            context = context_of(problem, arch, TILINGS[ragged], space, constraints=own)
            steps = check_path(mapping, cost, context, rng)
            checked += 1
            ordered += any(step.state.groups_behind > 1 for step in steps)
            free = context_of(problem, arch, TILINGS[ragged], space)
            for step in steps[:-1]:
                first, state = np.zeros(1, dtype=np.int64), step.state._replace(groups_behind=0)
                least = free.bounds.at(free.bounds.table(state), step.tile, first)
                constrained = context.bounds.at(context.bounds.table(step.state), step.tile, first)
                assert (least <= constrained * SLACK).all()
                tighter += bool((least * SLACK < constrained).any())
    assert longer.occurs(checked > 15)
    assert longer.occurs(ordered > 5)
    assert longer.occurs(tighter > 15)


@pytest.mark.some(1)
@pytest.mark.parametrize("seeds", longer.blocks(24, 12))
@pytest.mark.parametrize("most_cells", [30, 100_000])
def test_random_mappings_of_larger_spaces(seeds: range, most_cells: int) -> None:
    """Lattices whose cells hold several tiles, too."""
    effort = replace(EFFORT, few=4, first_cells=80)
    checked = coarse = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = windows_below_arrays(rng)
        if rng.random() < 0.3:
            problem, arch = random_problem(rng, 16), random_architecture(rng)
        problem = Problem("larger", tuple((d, n * rng.randint(1, 3)) for d, n in problem.dims), problem.tensors)
        ragged, rate = rng.random() < 0.7, rng.choice([None, 0.3, 3.0, 30.0])
        arch = with_wide_sums(arch) if seed % 2 else arch
        context = context_of(problem, arch, TILINGS[ragged], "uneven", rate, most_cells=most_cells, effort=effort)
        lattice = context.bounds.lattice
        coarse += any(len(axis) > n for axis, n in zip(lattice.tiles, lattice.shape, strict=True))
        mappings = (random_uneven(rng, problem, arch, ragged) for _ in range(4))
        for mapping, cost in mappings_that_fit(mappings, arch):
            check_path(mapping, cost, context, rng)
            checked += 1
    assert longer.occurs(checked > 35)
    assert longer.occurs((coarse > 0) == (most_cells < 1000))


@pytest.mark.some(1)
@pytest.mark.parametrize("seeds", longer.blocks(40, 20))
def test_overlaps_kept_at_every_move(seeds: range) -> None:
    """Memories with `halo: exact`, and loops in any order; bounds know more than the words that are distinct."""
    checked = known = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = windows_below_arrays(rng, 4)
        sizes = tuple((d, n * rng.choice([1, 2, 2, 3, 4])) for d, n in problem.dims)
        problem = Problem("larger", sizes, problem.tensors)
        arch = arch.model_copy(update={"levels": tuple(with_exact_halo(each) for each in arch.levels)})
        context = context_of(problem, arch, "perfect", "uneven", rng.choice([None, 3.0]))
        less = replace(context.hierarchy, follows_halos=False)
        context_of_less = replace(context, costs=replace(context.costs, hierarchy=less))
        for mapping, cost in mappings_that_fit((random_uneven(rng, problem, arch, False) for _ in range(6)), arch):
            last = check_path(mapping, cost, context, rng)[-1]
            checked += 1
            known += bool((last.costs(context) > last.costs(context_of_less) * SLACK).any())
    assert longer.occurs(checked > 60)
    assert longer.occurs(known > 20)


def with_exact_halo(level: Memory | Fanout) -> Memory | Fanout:
    return level.model_copy(update={"halo": "exact"}) if isinstance(level, Memory) else level
