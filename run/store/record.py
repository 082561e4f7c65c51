"""An answer as a row of the database: figures to list and filter by, the whole of it compressed, and a checksum."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from dataclasses import astuple, dataclass, fields, replace
from functools import reduce
from typing import Literal, TypeVar

from ...arch import Architecture
from ...cost_models import Cost
from ...ir import MappingError, StoreError
from ...mapper.answer import Answer, Unfused
from ...mapper.certificate import Certificate
from ...mapper.model_version import MODEL_VERSION
from ...mapper.question import FREE, AnyQuestion, Limits, canonical_json, is_about_cascade
from ..documents.mappings import LoadedMapping, document_of, parse_mapping, written_by
from .key import CASCADE_FORMAT, FORMAT, Part, stored_key
from .result import Kept, NoMapping, PastSearch, Searches

ProvenT = TypeVar("ProvenT", Answer, Unfused)

Status = Literal["proven", "unproven", "infeasible"]
STATUSES: tuple[Status, ...] = ("proven", "unproven", "infeasible")

DAMAGED_RECORD = "`tilewright results gc --damaged` removes what cannot be read; searches that it answered run again"


@dataclass(frozen=True)
class Record:
    """One stored result.

    key            `stored_key` of the question
    model_version, format  what it was found with: `MODEL_VERSION`, and `FORMAT` of `key.py`
    layer, arch, dataflow  names by which it was asked for when it was found
    value, gap     of the certificate; None, like all figures, where there is no mapping
    time_limit_s, memory_limit_bytes  under which it was found; None: none
    created_s      when it was stored, in seconds since 1970 (UTC)
    payload        compressed: the mapping.json document; the diagnosis as {layer, message, where, hint}; or what
                   searches of a group of a network came to, {bound, tried: [[below, [time_s, memory_bytes], seconds],
                   ...]}
    checksum       of all the others
    """

    key: str
    model_version: int
    format: str
    layer: str
    arch: str
    dataflow: str
    objective: str
    tiling: str
    space: str
    status: str
    energy_pj: float | None
    latency_cycles: float | None
    utilization: float | None
    value: float | None
    gap: float | None
    seconds: float
    time_limit_s: float | None
    created_s: float
    written_by: str
    payload: bytes
    checksum: str
    memory_limit_bytes: int | None = None

    @property
    def is_intact(self) -> bool:
        """Whether the row is what was once written."""
        return self.checksum == checksum_of(self)

    @property
    def is_current(self) -> bool:
        """Whether it is of the cost model and the format of this version, so that searches are answered from it."""
        return self.model_version == MODEL_VERSION and self.format in (FORMAT, CASCADE_FORMAT)

    @property
    def is_cascade(self) -> bool:
        """Whether it is of a cascade."""
        return self.format == CASCADE_FORMAT

    @property
    def has_mapping(self) -> bool:
        """Whether its text is the document of a mapping."""
        return self.value is not None

    @property
    def text(self) -> str:
        """The mapping.json document, or the diagnosis or what searches came to as JSON."""
        return zlib.decompress(self.payload).decode()

    def result(self) -> Kept:
        """What was stored. Raises StoreError for a record that is not what was once written."""
        missing = self._missing()
        if missing is not None:
            return missing
        if not self.has_mapping:
            told = json.loads(self.text)
            tried = (PastSearch(below, Limits(*limits), seconds) for below, limits, seconds in told["tried"])
            return Searches(told["bound"], tuple(tried))
        loaded = self._read()
        recorded = loaded.recorded
        assert recorded.certificate is not None
        return Answer(loaded.mapping, recorded.cost, recorded.certificate, recorded.unfused, recorded.forms)

    def _missing(self) -> NoMapping | None:
        """The reason why there is no mapping, if that was stored."""
        if not self.is_intact:
            raise StoreError("the record does not match its checksum", where=f"result {self.key[:12]}")
        if self.status != "infeasible":
            return None
        told = json.loads(self.text)
        return NoMapping(told["layer"], told["message"], told["where"], told["hint"])

    def _read(self) -> LoadedMapping:
        try:
            return parse_mapping(self.text, f"result {self.key[:12]}")
        except MappingError as error:
            hint = "it is of another version: `tilewright results gc` removes it"
            raise StoreError(error.message, where=error.where, hint=hint) from None

    def answers_under(self, limits: Limits) -> bool:
        """Whether a search with these limits need not be run: it could find nothing better, or has no more time and no
        more memory."""
        return self.status != "unproven" or self._allows(limits.time_s, limits.memory_bytes)

    def _allows(self, time_s: float | None, memory_bytes: int | None) -> bool:
        """Whether limits are no larger than those under which it was found; None: there is none. Without one, a search
        of a cascade ends by itself before it has proven all: it had the time that it took."""
        most_s = self.seconds if self.time_limit_s is None and self.is_cascade else self.time_limit_s
        same = time_s is None and self.time_limit_s is None
        has_time = same or most_s is None or (time_s is not None and time_s <= most_s)
        most = self.memory_limit_bytes
        return has_time and (most is None or (memory_bytes is not None and memory_bytes <= most))

    def merged_with(self, before: Record) -> Record:
        """What this record and an earlier one of the same question know together: what is proven stays; of two that
        are not, the better mapping with the higher bound."""
        if before.status != "unproven" or self.status != "unproven":
            return self if before.status == "unproven" else before
        try:
            found = self._found_with(before)
        except StoreError:  # the earlier one cannot be read
            return self
        longer = before if before._allows(self.time_limit_s, self.memory_limit_bytes) else self
        merged = replace(
            self,
            status="proven" if found.proven else "unproven",
            energy_pj=found.cost.energy_pj,
            latency_cycles=found.cost.latency_cycles,
            utilization=found.cost.utilization,
            value=found.certificate.value,
            gap=found.certificate.gap,
            seconds=longer.seconds,
            time_limit_s=longer.time_limit_s,
            memory_limit_bytes=longer.memory_limit_bytes,
            payload=zlib.compress(found.text.encode()),
        )
        return replace(merged, checksum=checksum_of(merged))

    def _found_with(self, before: Record) -> _Found:
        """The better mapping of two records, with what both prove."""
        answers = [found for found in (before.result(), self.result()) if isinstance(found, Answer)]
        apart = [answer.unfused for answer in answers if answer.unfused is not None]
        best = reduce(merged_proofs, answers)
        return _found(replace(best, unfused=reduce(merged_proofs, apart) if apart else None), self._read().arch)


COLUMNS = tuple(field.name for field in fields(Record))


def record_of(question: AnyQuestion, result: Kept, seconds: float, part: Part | None = None) -> Record:
    """The record of a result that took `seconds` to find; of a group of a network, `part` of it."""
    found = _found(result, question.arch) if isinstance(result, Answer) else result
    if not is_about_cascade(question):
        return _record(question, question.work.name, question.constraints.name, found, seconds)
    told = [*([] if question.fuse == "all" else [f"fuse {question.fuse}"]), *question.constraints.lines]
    return _record(question, question.work.name, "; ".join(told) or FREE.name, found, seconds, part)


@dataclass(frozen=True)
class _Found:
    """A mapping as a record has it.

    text    its document
    proven  whether a search with larger limits could find nothing better
    """

    text: str
    proven: bool
    cost: Cost
    certificate: Certificate


def _found(answer: Answer, arch: Architecture) -> _Found:
    cost, proof, apart = answer.cost, answer.certificate, answer.unfused
    text = document_of(answer.mapping, arch, cost, proof, apart, answer.forms).model_dump_json()
    return _Found(text, is_settled(answer), cost, proof)


def is_settled(answer: Answer) -> bool:
    """Whether a search with larger limits could find nothing better, and nothing better to compare with."""
    return answer.certificate.proven and (answer.unfused is None or answer.unfused.certificate.proven)


def merged_proofs(one: ProvenT, other: ProvenT) -> ProvenT:
    """The better of two answers to one question, with the higher bound."""
    best = one if one.certificate.value < other.certificate.value else other
    bound = max(one.certificate.lower_bound, other.certificate.lower_bound)
    return replace(best, certificate=best.certificate.with_bound(bound))


def _record(
    question: AnyQuestion,
    name: str,
    constraints: str,
    found: _Found | NoMapping | Searches,
    seconds: float,
    part: Part | None = None,
) -> Record:
    figures: tuple[float | None, ...] = (None,) * 5
    if isinstance(found, NoMapping):
        status, text = "infeasible", canonical_json(found.__dict__)
    elif isinstance(found, Searches):
        status, text = "unproven", canonical_json({"bound": found.bound, "tried": list(map(astuple, found.tried))})
    else:
        cost, proof = found.cost, found.certificate
        status, text = "proven" if found.proven else "unproven", found.text
        figures = (cost.energy_pj, cost.latency_cycles, cost.utilization, proof.value, proof.gap)
    energy_pj, latency_cycles, utilization, value, gap = figures
    limits = question.limits
    unsigned = Record(
        key=stored_key(question, part),
        model_version=MODEL_VERSION,
        format=CASCADE_FORMAT if is_about_cascade(question) else FORMAT,
        layer=name,
        arch=question.arch.name,
        dataflow=constraints,
        objective=question.objective.name,
        tiling=question.tiling,
        space=question.space,
        status=status,
        energy_pj=energy_pj,
        latency_cycles=latency_cycles,
        utilization=utilization,
        value=value,
        gap=gap,
        seconds=float(seconds),
        time_limit_s=float(limits.time_s) if limits.time_s is not None else None,
        created_s=time.time(),
        written_by=written_by(),
        payload=zlib.compress(text.encode()),
        checksum="",
        memory_limit_bytes=limits.memory_bytes,
    )
    return replace(unsigned, checksum=checksum_of(unsigned))


def checksum_of(record: Record) -> str:
    """Of all values but the checksum, as the database gives them back: texts, whole numbers, floats, bytes and None.

    A memory limit counts where there is one: records of stores of version 1 have none.
    """
    without = {"checksum"} if record.memory_limit_bytes is not None else {"checksum", "memory_limit_bytes"}
    digest = hashlib.blake2b(digest_size=16)
    for column in COLUMNS:
        if column not in without:
            part = getattr(record, column)
            data = part if isinstance(part, bytes) else repr(part).encode()
            digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
