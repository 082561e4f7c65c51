"""What is known of a GPU: the figures that the time of a GEMM depends on, read from machines/*.yaml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from ...arch.document import Field, is_path, read_document, read_text
from ...arch.units import bits_per_cycle, clock_hz, seconds, size_bits
from ...ir import ArchitectureError, did_you_mean
from .gemm import DTYPES

_MACHINES = Path(__file__).parent / "machines"
_A_GPU_FILE = "a GPU file"
_KEYS = {
    "gpu": "a name such as a100",
    "description": "one line",
    "source": "where the figures come from",
    "sms": "a whole number of SMs such as 108",
    "clock": "a clock such as 1410 MHz",
    "fma_per_cycle": "multiply-adds of one SM per cycle for each element type, such as {fp16: 1024}",
    "shared_memory": "a size such as 163 KiB",
    "sm_port": "a bandwidth such as 64 B/cycle",
    "l2_size": "a size such as 40 MiB",
    "l2_bandwidth": "a bandwidth such as 5400 GB/s",
    "hbm_bandwidth": "a bandwidth such as 2039 GB/s",
    "line": "a size such as 128 B",
    "launch_overhead": "a time such as 3 us",
}


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
    """

    name: str
    description: str
    source: str
    sms: int
    clock_hz: float
    fma_per_cycle: Mapping[str, int]
    shared_memory_bytes: int
    sm_port_bytes: float
    l2_bytes: int
    l2_bytes_per_s: float
    hbm_bytes_per_s: float
    line_bytes: int
    launch_s: float

    def rate(self, dtype: str) -> int:
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
    """The GPU that a text describes; `file` is how messages call it."""
    document = read_document(text, file, _A_GPU_FILE, "start with 'gpu:' and a name")
    fields = document.members(_KEYS)
    hertz = _clock(fields)

    def size(key: str) -> int:
        bits = fields[key].quantity(size_bits, _KEYS[key])
        if bits % 8:
            raise fields[key].error(f"found {bits} bits, expected whole bytes")
        return bits // 8

    def bandwidth(key: str) -> float:
        """Bytes per cycle."""
        return fields[key].quantity(partial(bits_per_cycle, clock_hz=hertz), _KEYS[key]) / 8

    return Gpu(
        name=fields["gpu"].text(_KEYS["gpu"]),
        description=fields["description"].text(),
        source=fields["source"].text(),
        sms=fields["sms"].whole(_KEYS["sms"]),
        clock_hz=hertz,
        fma_per_cycle=_rates(fields["fma_per_cycle"]),
        shared_memory_bytes=size("shared_memory"),
        sm_port_bytes=bandwidth("sm_port"),
        l2_bytes=size("l2_size"),
        l2_bytes_per_s=bandwidth("l2_bandwidth") * hertz,
        hbm_bytes_per_s=bandwidth("hbm_bandwidth") * hertz,
        line_bytes=size("line"),
        launch_s=fields["launch_overhead"].quantity(seconds, _KEYS["launch_overhead"]),
    )


def _clock(fields: Mapping[str, Field]) -> float:
    return fields["clock"].quantity(clock_hz, _KEYS["clock"])


def _rates(field: Field) -> dict[str, int]:
    rates = {}
    for dtype, rate in field.mapping(_KEYS["fma_per_cycle"]).items():
        if dtype not in DTYPES:
            raise rate.error(
                f"unknown element type, expected one of {', '.join(DTYPES)}", hint=did_you_mean(dtype, DTYPES)
            )
        rates[dtype] = rate.whole("a whole number of multiply-adds per cycle such as 1024")
    return rates
