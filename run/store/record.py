"""An answer as a row of the database: figures to list and filter by, the whole of it compressed, and a checksum."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields, replace
from typing import Literal, TypeVar

from ...cost_models import Cost
from ...cost_models.cascades import FusedCost
from ...ir import MappingError, StoreError
from ...mapper.cascades import CascadeQuestion
from ...mapper.certificate import Certificate
from ...mapper.fusing import FusedAnswer
from ...mapper.model_version import MODEL_VERSION
from ...mapper.question import FREE, Answer, Limits, Question, canonical_json
from ..documents.cascades import fused_document_of, parse_fused
from ..documents.mappings import document_of, parse_mapping, written_by
from .key import CASCADE_FORMAT, FORMAT, Part, stored_key
from .result import CascadeOutcome, NoMapping, PastSearch, Result, Searches

LoadedT = TypeVar("LoadedT")

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
        """Whether it is of a cascade: what `cascade_result` has."""
        return self.format == CASCADE_FORMAT

    @property
    def has_mapping(self) -> bool:
        """Whether its text is the document of a mapping."""
        return self.value is not None

    @property
    def text(self) -> str:
        """The mapping.json document, or the diagnosis or what searches came to as JSON."""
        return zlib.decompress(self.payload).decode()

    def result(self) -> Result:
        """What was stored. Raises StoreError for a record that is not what was once written."""
        missing = self._missing()
        if missing is not None:
            return missing
        loaded = self._read(parse_mapping)
        assert loaded.recorded.certificate is not None
        return Answer(loaded.mapping, loaded.recorded.cost, loaded.recorded.certificate)

    def cascade_result(self) -> CascadeOutcome:
        """What was stored of a cascade; StoreError as of `result`."""
        missing = self._missing()
        if missing is not None:
            return missing
        if not self.has_mapping:
            told = json.loads(self.text)
            tried = (PastSearch(below, Limits(*limits), seconds) for below, limits, seconds in told["tried"])
            return Searches(told["bound"], tuple(tried))
        loaded = self._read(parse_fused)
        recorded = loaded.recorded
        assert recorded.certificate is not None
        return FusedAnswer(loaded.mapping, recorded.cost, recorded.certificate, recorded.unfused, recorded.forms)

    def _missing(self) -> NoMapping | None:
        """The reason why there is no mapping, if that was stored."""
        if not self.is_intact:
            raise StoreError("the record does not match its checksum", where=f"result {self.key[:12]}")
        if self.status != "infeasible":
            return None
        told = json.loads(self.text)
        return NoMapping(told["layer"], told["message"], told["where"], told["hint"])

    def _read(self, parse: Callable[[str, str], LoadedT]) -> LoadedT:
        try:
            return parse(self.text, f"result {self.key[:12]}")
        except MappingError as error:
            hint = "it is of another version: `tilewright results gc` removes it"
            raise StoreError(error.message, where=error.where, hint=hint) from None

    def answers_under(self, limits: Limits) -> bool:
        """Whether a search with these limits need not be run: it could find nothing better, or has no more time and no
        more memory."""
        if self.status != "unproven":
            return True
        if self.memory_limit_bytes is not None and limits.memory_bytes > self.memory_limit_bytes:
            return False
        return self.time_limit_s is None or (limits.time_s is not None and limits.time_s <= self.time_limit_s)


COLUMNS = tuple(field.name for field in fields(Record))


def record_of(question: Question, result: Result, seconds: float) -> Record:
    """The record of a result that took `seconds` to find."""
    if isinstance(result, NoMapping):
        return _record(question, question.problem.name, question.constraints.name, result, seconds)
    text = document_of(result.mapping, question.arch, result.cost, result.certificate).model_dump_json()
    found = _Found(text, result.certificate.proven, result.cost, result.certificate)
    return _record(question, question.problem.name, question.constraints.name, found, seconds)


def cascade_record_of(
    question: CascadeQuestion, result: CascadeOutcome, seconds: float, part: Part | None = None
) -> Record:
    """The record of a result about a cascade that took `seconds` to find; of a group of a network, `part` of it."""
    told = [*([] if question.fuse == "all" else [f"fuse {question.fuse}"]), *question.constraints.lines]
    fuse = "; ".join(told) or FREE.name
    if isinstance(result, NoMapping | Searches):
        return _record(question, question.cascade.name, fuse, result, seconds, part)
    cost, proof, apart = result.cost, result.certificate, result.unfused
    text = fused_document_of(result.mapping, question.arch, cost, proof, apart, result.forms).model_dump_json()
    proven = proof.proven and (apart is None or apart.certificate.proven)
    return _record(question, question.cascade.name, fuse, _Found(text, proven, cost, proof), seconds, part)


@dataclass(frozen=True)
class _Found:
    """A mapping as a record has it.

    text    its document
    proven  whether a search with larger limits could find nothing better
    """

    text: str
    proven: bool
    cost: Cost | FusedCost
    certificate: Certificate


def _record(
    question: Question | CascadeQuestion,
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
        format=CASCADE_FORMAT if isinstance(question, CascadeQuestion) else FORMAT,
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
