"""Machines as users bring them, against what a person works out on paper."""

from __future__ import annotations

import pytest

import tilewright as tw
from cases import CASES

DECODING = (pytest.param("sa32", 226.5, 12.8, marks=pytest.mark.long), ("minigpu", 453.0, 448.0))
"""Machines, megabytes that a token takes, and gigabytes a second."""


@pytest.mark.parametrize(("machine", "megabytes", "rate"), DECODING)
def test_a_decoded_token_takes_as_long_as_its_words_at_dram(machine: str, megabytes: float, rate: float) -> None:
    """Weights and cached keys and values are each read once, and nothing is used twice: 17.7 and 1.01 ms."""
    network, arch = CASES / "networks" / "llama_decode_4k.yaml", CASES / "machines" / f"{machine}.yaml"
    found = tw.compare(
        [str(network)], [str(arch)], ["free"], objective="latency", tiling="perfect", workers=1, cache=False
    )
    (whole,) = found.summaries()
    assert whole.proven
    assert whole.latency_s == pytest.approx(megabytes / rate / 1e3, rel=2e-3)


@pytest.mark.long
def test_on_four_cores_no_fixed_dataflow_is_better_than_a_free_choice() -> None:
    arch, network = CASES / "machines" / "quad.yaml", CASES / "networks" / "tiny.yaml"
    found = tw.compare([str(network)], [str(arch)], tiling="perfect", time_limit=0, workers=1, cache=False)
    values = {row.dataflow: row.value for row in found.rows}
    assert len(values) > 1
    assert min(values.values()) == values["free"]
