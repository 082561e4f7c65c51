"""What is known of a GPU: the figures that the time of a GEMM depends on, read from machines/*.yaml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from ...arch import Architecture, Fanout, Memory, load_arch
from ...arch.document import Field, is_path, read_document, read_text
from ...arch.units import bits_per_cycle, seconds, size_bits
from ...ir import ArchitectureError, did_you_mean
from .alignment import WIDEST_LOAD_BYTES
from .gemm import DTYPES

_MACHINES = Path(__file__).parent / "machines"
_A_GPU_FILE = "a GPU file"
_BITS = 8

Level = TypeVar("Level", Memory, Fanout)
_KEYS = {
    "gpu": "a name such as a100",
    "arch": "an architecture of the library, or a path, such as a100",
    "source": "where the figures come from",
    "speed": "rates of element types, relative to those of the architecture's words, such as {fp16: 1, int8: 2}",
    "sm_port": "a bandwidth such as 64 B/cycle",
    "l2_bandwidth": "a bandwidth such as 5400 GB/s",
    "line": "a size such as 128 B",
    "launch_overhead": "a time such as 3 us",
}
_OPTIONAL = ("shared_reserved", "shared_busy", "widest_load", "boxes")
_BOX_KEYS = {"align": "a size such as 16 B", "warp_rate": "a part of the tensor cores' rate such as 0.63"}

# What the levels of an architecture must be called for it to be taken for a GPU.
_SMS, _L2, _SHARED = "SMs", "L2", "shared"


@dataclass(frozen=True)
class Gpu:
    """A GPU as the GEMM model sees it.

    sms                  streaming multiprocessors
    clock_hz             clock [Hz]
    fma_per_cycle        multiply-adds per cycle of one SM, by element type
    shared_memory_bytes  the most that one thread block may have
    sm_port_bytes        what one SM can take in from L2 [B/cycle]
    l2_bytes             size of the L2 cache
    l2_bytes_per_s       what L2 hands out to all SMs together
    hbm_bytes_per_s      bandwidth of the memory outside the chip
    line_bytes           a line of the caches
    launch_s             time that every kernel takes besides its work
    shared_busy          part of the cycles in which shared memory does something, where a product waits for it
    widest_load          bytes that a thread loads at once, at most, in kernels that do not copy boxes
    box_bytes            alignment of matrices that the machine copies in boxes by itself; None if it cannot
    warp_rate            part of the tensor cores' rate that is reached without that
    """

    name: str
    description: str
    source: str
    sms: int
    clock_hz: float
    fma_per_cycle: Mapping[str, float]
    shared_memory_bytes: int
    sm_port_bytes: float
    l2_bytes: int
    l2_bytes_per_s: float
    hbm_bytes_per_s: float
    line_bytes: int
    launch_s: float
    shared_busy: float
    widest_load: int
    box_bytes: int | None
    warp_rate: float

    def rate(self, dtype: str) -> float:
        """Multiply-adds per cycle of one SM; ArchitectureError if its tensor cores do not know the type."""
        if dtype not in self.fma_per_cycle:
            known = ", ".join(self.fma_per_cycle)
            message = f"the tensor cores of {self.name} have no {dtype}, expected {known}"
            raise ArchitectureError(message, where="dtype", hint=did_you_mean(dtype, self.fma_per_cycle))
        return self.fma_per_cycle[dtype]

    def peak(self, dtype: str) -> float:
        """FLOP/s of all tensor cores, two to a multiply-add."""
        return 2.0 * self.sms * self.rate(dtype) * self.clock_hz

    def load_bytes_per_cycle(self, active: int) -> float:
        """What each of `active` SMs gets from L2 per cycle, while the others ask for nothing."""
        return min(self.sm_port_bytes, self.l2_bytes_per_s / self.clock_hz / active)


def list_gpus() -> tuple[str, ...]:
    """Names of the GPUs that come with tilewright, in alphabetical order."""
    return tuple(sorted(path.stem for path in _MACHINES.glob("*.yaml")))


def load_gpu(name_or_path: str | os.PathLike[str]) -> Gpu:
    """A GPU by its name, or by the path of a file that says the same things as those in machines/.

    Raises ArchitectureError when there is no such GPU or file, or when the file cannot be understood.
    """
    name = os.fspath(name_or_path)
    known = list_gpus()
    if name in known:
        return _shipped(name)
    if isinstance(name_or_path, str) and not is_path(name):
        hint = did_you_mean(name, known)
        raise ArchitectureError(f"no GPU is named {name!r}, expected one of {', '.join(known)}", hint=hint)
    return parse_gpu(read_text(Path(name), name, _A_GPU_FILE), name)


@lru_cache
def _shipped(name: str) -> Gpu:
    file = f"machines/{name}.yaml"
    return parse_gpu(read_text(_MACHINES / f"{name}.yaml", file, _A_GPU_FILE), file)


def parse_gpu(text: str, file: str) -> Gpu:
    """The GPU that a text describes; `file` is how messages call it.

    SMs, clock, tensor cores, memory sizes and the bandwidth of the outermost memory are those of the architecture that
    the text names: one whose levels include L2, SMs and shared.
    """
    document = read_document(text, file, _A_GPU_FILE, "start with 'gpu:' and a name")
    fields = document.members(_KEYS, _OPTIONAL)
    arch = load_arch(fields["arch"].text(_KEYS["arch"]))
    sms = _level(arch, _SMS, Fanout, fields["arch"])
    hbm = arch.memories[0].shared_bits_per_cycle
    if hbm is None:
        raise fields["arch"].error(f"{arch.memories[0].name} has no bandwidth, expected one port with one")
    boxes = fields["boxes"].members(_BOX_KEYS) if "boxes" in fields else {}
    reserved = _bytes(fields["shared_reserved"]) if "shared_reserved" in fields else 0
    return Gpu(
        name=fields["gpu"].text(_KEYS["gpu"]),
        description=arch.description,
        source=fields["source"].text(),
        sms=sms.instances,
        clock_hz=arch.clock_hz,
        fma_per_cycle=_rates(fields["speed"], arch.mac_instances * arch.mac.per_cycle / sms.instances),
        shared_memory_bytes=_size(arch, _SHARED, fields["arch"]) - reserved,
        sm_port_bytes=_bandwidth(fields["sm_port"], arch.clock_hz),
        l2_bytes=_size(arch, _L2, fields["arch"]),
        l2_bytes_per_s=_bandwidth(fields["l2_bandwidth"], arch.clock_hz) * arch.clock_hz,
        hbm_bytes_per_s=hbm / _BITS * arch.clock_hz,
        line_bytes=_bytes(fields["line"]),
        launch_s=fields["launch_overhead"].quantity(seconds, _KEYS["launch_overhead"]),
        shared_busy=_part(fields["shared_busy"]) if "shared_busy" in fields else 1.0,
        widest_load=_bytes(fields["widest_load"]) if "widest_load" in fields else WIDEST_LOAD_BYTES,
        box_bytes=_bytes(boxes["align"]) if boxes else None,
        warp_rate=_part(boxes["warp_rate"]) if boxes else 1.0,
    )


def _level(arch: Architecture, name: str, kind: type[Level], field: Field) -> Level:
    for level in arch.levels:
        if level.name == name and isinstance(level, kind):
            return level
    names = ", ".join(level.name for level in arch.levels)
    raise field.error(f"{arch.name} has no {kind.__name__.lower()} {name!r} (it has {names}), expected a GPU")


def _size(arch: Architecture, name: str, field: Field) -> int:
    """Bytes of a memory."""
    bits = _level(arch, name, Memory, field).size_bits
    if bits is None:
        raise field.error(f"{name} of {arch.name} has no size, expected one for all tensors")
    return bits // _BITS


def _bytes(field: Field) -> int:
    bits = field.quantity(size_bits, "a size such as 128 B")
    if bits % _BITS:
        raise field.error(f"found {bits} bits, expected whole bytes")
    return bits // _BITS


def _part(field: Field) -> float:
    part = field.number("a part of the whole, such as 0.77")
    if part > 1:
        raise field.error(f"found {part:g}, expected a part of the whole: 1 at most")
    return part


def _bandwidth(field: Field, hertz: float) -> float:
    """Bytes per cycle."""
    return field.quantity(partial(bits_per_cycle, clock_hz=hertz), "a bandwidth such as 64 B/cycle") / _BITS


def _rates(field: Field, words_per_cycle: float) -> dict[str, float]:
    rates = {}
    for dtype, speed in field.mapping(_KEYS["speed"]).items():
        if dtype not in DTYPES:
            hint = did_you_mean(dtype, DTYPES)
            raise speed.error(f"unknown element type, expected one of {', '.join(DTYPES)}", hint=hint)
        rates[dtype] = words_per_cycle * speed.number("a relative rate such as 2")
    return rates
