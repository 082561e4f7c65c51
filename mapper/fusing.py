"""What fusing is worth: the best tree of a cascade beside the best one in which nothing is fused, both proven.

The key of a question about a cascade is, as that of a question about one operation, a hash of everything that the
answer depends on. Names of operations and tensors are part of it, since trees are written with them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ..arch import Architecture, Memory
from ..arch.units import size_text
from ..cost_models import ENERGY, Capped, Cost, Objective, evaluate_open
from ..cost_models.cascades import check_lined_cascade
from ..cost_models.cost import capacity_parts
from ..cost_models.layouts import has_lines, packed
from ..cost_models.least_cost import least_cost_of_cascade
from ..ir import Cascade, InfeasibleError, Mapping, TilewrightError, UndecidedError
from .answer import Answer, Unfused
from .cascades import NothingBelow, iterates, search_cascade, search_cascade_below, search_cascade_front, without_search
from .cascades.objectives.proofs import PLAIN
from .cascades.terms.windowed import windowed_dims
from .certificate import Certificate, PartProof, Points
from .constraints.trees import ANY_TREE, read_tree_constraints
from .effort import TREE_EFFORT
from .kernel.tolerance import or_value
from .lined_cascades import in_lines, kept_on_chip, least_of_empty_lines, unfused_in_lines
from .means import Means, within
from .progress import CASCADE, SearchProgress, answering
from .question import Fuse, Question, TreeQuestion, in_one_call
from .several import best_of, search_in_turn, with_time_left

_CONSTRAINTS: Final[dict[Fuse, tuple[str, ...]]] = {
    "all": (),
    "plain": ("no shared loops along windows",),
    "whole": ("intermediates on chip whole: no shared loops",),
    "none": ("nothing fused: every intermediate in the outermost memory",),
}


def on_chip(mapping: Mapping, cost: Cost) -> dict[str, str]:
    """Intermediates that branches exchange in a memory other than the outermost, with the innermost such memory."""
    outermost = cost.memories[0].name
    found = {}
    for tiles in cost.occupancy.values():
        for tile in tiles:
            if tile.is_intermediate and tile.memory != outermost:
                found[tile.tensor] = tile.memory
    return {tensor: found[tensor] for tensor in mapping.cascade.intermediates if tensor in found}


def memories_of_exchange(arch: Architecture) -> tuple[Memory, ...]:
    """Memories outside all arrays, but the outermost, that may keep what one operation writes and another one reads."""
    return tuple(
        memory
        for memory in arch.memories_outside[1:]
        if (
            memory.keeps["output"] != "never"
            and (memory.keeps["input"] != "never" or memory.keeps["weight"] != "never")
        )
    )


def outer_words(cost: Cost) -> int:
    """Words that the outermost memory reads and writes."""
    outermost = cost.memories[0].name
    traffic = [one.reads + one.writes for one in cost.traffic if one.memory == outermost]
    return int(sum(traffic))  # whole numbers: cascades have no zeros


@in_one_call
def answer_cascade(question: TreeQuestion) -> Answer:
    """The best tree, and the best one with nothing fused.

    What is not fused is searched first: it takes least, and is a mapping to fall back on. The time limit is for both;
    half of it is for what is not fused.

    Raises InfeasibleError when nothing fits, with the memory that is too small or the limit that cannot be kept;
    UndecidedError when time or memory run out before anything is found; TilewrightError for what cannot be searched.
    """
    objective = question.objective.name
    with answering(lambda: SearchProgress(doing="bounds on single operations", objective=objective), CASCADE):
        return _answer_in_lines(question) if has_lines(question.arch) else _answer_beside_unfused(question)


def _answer_beside_unfused(question: TreeQuestion) -> Answer:
    plain = _without_iterations(question.cascade)
    if question.fuse == "none" or not question.cascade.intermediates or plain is None:
        return answer_alone(question)
    limit = question.limits.time_s
    limits = replace(question.limits, time_s=None if limit is None else limit / 2)
    try:
        apart = answer_alone(replace(question, work=plain, fuse="none", limits=limits, constraints=ANY_TREE))
    except (InfeasibleError, UndecidedError):
        return answer_alone(question)
    if apart.certificate.interrupted:
        if question.constraints != ANY_TREE:  # it may be none of the trees that are asked for
            raise KeyboardInterrupt
        return _not_compared(question, apart, apart.certificate.interrupted)
    try:
        answer = answer_alone(question)
    except (UndecidedError, KeyboardInterrupt) as error:
        if question.constraints != ANY_TREE:
            raise
        answer = _not_compared(question, apart, isinstance(error, KeyboardInterrupt))
    proof = answer.certificate
    if apart.certificate.value < proof.value and question.constraints == ANY_TREE:
        proof = replace(proof, value=apart.certificate.value).with_bound(proof.lower_bound)
        answer = replace(apart, certificate=proof, forms=answer.forms)
    figures = apart.cost.energy_pj, apart.cost.latency_cycles, outer_words(apart.cost)
    return replace(answer, unfused=Unfused(*figures, apart.certificate))


def _without_iterations(cascade: Cascade) -> Cascade | None:
    """The cascade with those of its forms that can be done with nothing fused; None: there is none."""
    plain = [form for form in cascade.forms if not iterates(form)]
    return replace(plain[0], others=tuple(plain[1:])) if plain else None


def _answer_in_lines(question: TreeQuestion) -> Answer:
    """The better of two trees by what their lines cost: the best one where lines are always full, and the one in which
    each operation is mapped as is best with its lines, with what they exchange whole in an inner memory where that is
    better. No tree costs less than the first does with full lines, and with what is empty in those that every tree
    moves: that is the certificate's bound.

    Raises TilewrightError as `answer_cascade` does; also for trees whose lines are not counted, and for objectives with
    limits or several parts.
    """
    if type(question.objective) is not Objective or question.objective.is_lexicographic:
        hint = "minimize energy, latency, edp, ed2p or a formula, without limits"
        message = f"cascades in lines know no objective such as {question.objective.name}"
        raise TilewrightError(message, where="objective", hint=hint)
    for form in question.cascade.forms:
        check_lined_cascade(form, question.arch)
    started, limit = time.perf_counter(), question.limits.time_s
    limits = replace(question.limits, time_s=None if limit is None else limit / 2)
    mapping, bound = _unfused_in_lines(replace(question, limits=limits))
    fuse: Fuse = "plain" if question.fuse == "all" else question.fuse
    full = replace(question, arch=packed(question.arch), fuse=fuse)
    best = _in_lines(question, answer_alone(with_time_left(full, started)))
    proof = best.certificate
    cost, _ = evaluate_open(mapping, question.arch)
    value = cost.objective(question.objective)
    unfused = None
    if fuse != "none":
        figures = cost.energy_pj, cost.latency_cycles, outer_words(cost)
        among_all = proof.lower_bound if question.constraints == ANY_TREE else 0.0
        least = min(value, max(bound, among_all))
        told = replace(proof, value=value, lower_bound=least, constraints=_CONSTRAINTS["none"])
        unfused = Unfused(*figures, told)
        mapping = kept_on_chip(question, mapping, memories_of_exchange(question.arch))
        cost, _ = evaluate_open(mapping, question.arch)
        value = cost.objective(question.objective)
    else:
        proof = replace(proof, lower_bound=max(bound, proof.lower_bound))
    if value < proof.value and question.constraints == ANY_TREE:
        best, proof = replace(best, mapping=mapping, cost=cost), replace(proof, value=value)
    proof = replace(proof, lower_bound=or_value(proof.lower_bound, proof.value))
    proof = proof if fuse == question.fuse else _of_all_trees(question, proof)
    return replace(best, certificate=proof, unfused=unfused)


def _of_all_trees(question: TreeQuestion, proof: Certificate) -> Certificate:
    """What is proven of all trees by a search for those without shared loops along windows."""
    told = tuple(line for line in proof.constraints if line not in _CONSTRAINTS["plain"])
    if not any(any(windowed_dims(form, operation)) for form in question.cascade.forms for operation in form):
        return replace(proof, constraints=told)
    part = PartProof(PLAIN, proof.lower_bound)
    return replace(proof, constraints=told, parts=(part,)).with_bound(_known_from_the_start(question))


def _unfused_in_lines(question: TreeQuestion) -> tuple[Mapping, float]:
    """The tree with nothing fused that costs least, of any form; and what none of them costs less than."""
    forms = question.cascade.forms
    seconds = None if question.limits.time_s is None else question.limits.time_s / len(forms)
    limits = replace(question.limits, time_s=seconds)
    found = [unfused_in_lines(replace(question, work=form, limits=limits)) for form in forms]

    def cost(mapping: Mapping) -> float:
        return evaluate_open(mapping, question.arch)[0].objective(question.objective)

    return min((mapping for mapping, _ in found), key=cost), min(bound for _, bound in found)


def _in_lines(question: TreeQuestion, answer: Answer) -> Answer:
    """What a tree costs on a machine with lines that was found where they are full, and what no tree costs less than
    there."""
    cost, _ = evaluate_open(answer.mapping, question.arch)
    empty_pj = min(least_of_empty_lines(form, question.arch) for form in question.cascade.forms)
    bound = in_lines(
        question.objective, answer.certificate.lower_bound, empty_pj, cost.utilization * cost.latency_cycles
    )
    proof = replace(answer.certificate, value=cost.objective(question.objective), lower_bound=bound)
    return replace(answer, cost=cost, certificate=proof)


@in_one_call
def answer_below(question: TreeQuestion) -> Answer | NothingBelow:
    """The best tree, if it is better than `below` of the question says; nothing to compare it with. Where anything is
    of interest, as `answer_cascade`.

    Raises TilewrightError as `answer_cascade` does.
    """
    if question.below == math.inf:
        return answer_cascade(question)
    found = search_cascade_below(question)
    return found if isinstance(found, NothingBelow) else _of(question, found)


def answer_without_search(question: TreeQuestion) -> Answer | None:
    """Each operation on its own in a mapping that needs no search: what there is when time is up."""
    plain = _without_iterations(question.cascade)
    found = None if plain is None else without_search(replace(question, work=replace(plain, others=())))
    return None if found is None else _of(question, found)


def _not_compared(question: TreeQuestion, apart: Answer, interrupted: bool) -> Answer:
    """The best with nothing fused as the answer to a question that was not searched: what is proven of it is so of
    trees with nothing fused alone."""
    proof, told = apart.certificate, _CONSTRAINTS[question.fuse]
    part = PartProof("trees with nothing fused", proof.lower_bound)
    proof = replace(proof, constraints=told, interrupted=interrupted, parts=(part,))
    return replace(apart, certificate=proof.with_bound(_known_from_the_start(question)))


def _known_from_the_start(question: TreeQuestion) -> float:
    """What no tree has less of, before any search."""
    stays = [tensor for tensor, _ in question.stays]
    return least_cost_of_cascade(question.cascade, question.arch, stays).value(question.objective)


@in_one_call
def answer_front(question: TreeQuestion) -> Points[Answer]:
    """The front of energy and latency, from the least energy to the least latency; nothing beside it.

    Raises TilewrightError as `answer_cascade` does.
    """
    try:
        return search_cascade_front(question).each(lambda answer: _of(question, answer))
    except InfeasibleError:
        _diagnose(question)
        raise


@in_one_call
def answer_alone(question: TreeQuestion) -> Answer:
    """The best tree, with nothing to compare it with.

    Raises TilewrightError as `answer_cascade` does.
    """
    if question.objective.is_lexicographic:
        return search_in_turn(question, answer_alone)
    started = time.perf_counter()
    try:
        return answer_undiagnosed(question)
    except InfeasibleError:
        taken = time.perf_counter() - started
        with within(Means.of_its_own(max(taken, TREE_EFFORT.moment), question.limits.memory_bytes)):
            _check_constraints(question)
            if not isinstance(question.objective, Capped):
                _diagnose(question)
        raise


def answer_undiagnosed(question: TreeQuestion) -> Answer:
    """As `answer_alone`, of an objective that is one value; an InfeasibleError does not say why."""
    return _of(question, search_cascade(question))


def _check_constraints(question: TreeQuestion) -> None:
    """Raise the error that says which constraints leave no mapping together, none of which could be spared, where there
    would be one without them."""
    lines = question.constraints.lines
    free = replace(question, constraints=ANY_TREE, objective=ENERGY)
    if not lines or not _has_mapping(free, ()):
        return
    kept = lines
    for line in lines:
        fewer = tuple(one for one in kept if one != line)
        if not _has_mapping(free, fewer):
            kept = fewer
    todo = "drop one of them" if len(kept) > 1 else "without it there are trees"
    raise InfeasibleError(
        f"no tree satisfies {' and '.join(repr(line) for line in kept)}",
        where=question.cascade.name,
        hint="; ".join([*_without_room(question, kept), todo]),
    )


def _without_room(question: TreeQuestion, lines: tuple[str, ...]) -> Iterator[str]:
    """Intermediates that some constraints want in a memory that has no room for them whole, with both sizes."""
    arch = question.arch
    memories = {memory.name: memory for memory in arch.memories_outside}
    for tensor, memory in read_tree_constraints(lines, question.cascade, arch).homes:
        cascade = next(form for form in question.cascade.forms if tensor in form.producers)
        bits = math.prod(cascade.extents(tensor)) * arch.width_bits(cascade.producers[tensor].output)
        parts = [part.bits for part in capacity_parts(memories[memory])]
        if parts and bits > max(parts):
            yield f"{tensor} takes {size_text(bits)} as a whole, {memory} has {size_text(max(parts))}"


def _has_mapping(question: TreeQuestion, lines: tuple[str, ...]) -> bool:
    """Whether any tree satisfies some constraints; also where that is not known in time."""
    constraints = read_tree_constraints(lines, question.cascade, question.arch)
    try:
        search_cascade(replace(question, constraints=constraints))
    except InfeasibleError:
        return False
    except UndecidedError:
        return True
    return True


def _diagnose(question: TreeQuestion) -> None:
    """Raise the error that says which operation does not fit on its own, and which memory is too small for it."""
    for operation in question.cascade:
        machine = question.arch.model_copy(update={"mac": question.arch.mac.of(operation.kind)})
        problem, limits = operation.problem, question.limits
        try:
            best_of(Question(problem, machine, ENERGY, question.tiling, question.space, limits=limits))
        except InfeasibleError as error:
            message = f"{operation.name} does not fit: {error.message}"
            raise InfeasibleError(message, where=error.where, hint=error.hint) from None


def _of(question: TreeQuestion, answer: Answer) -> Answer:
    told = (*_CONSTRAINTS[question.fuse], *answer.certificate.constraints, *question.constraints.lines)
    certificate = replace(answer.certificate, constraints=told)
    return Answer(answer.mapping, answer.cost, certificate, forms=answer.forms)
