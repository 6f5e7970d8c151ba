"""The Python oracle agrees with the Go one, through the golden file that a Go test writes."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import oracle
import pytest

GOLDEN = Path(__file__).parents[2] / "internal" / "oracle" / "testdata" / "golden.json"
FINGERPRINT = bytes([0, 1, 2, 3, 0xFC, 0xFD, 0xFE, 0xFF, 8, 9, 10, 11, 12, 13, 14, 15])


def cases(kind: str) -> list[Any]:
    found: list[Any] = json.loads(GOLDEN.read_text())[kind]
    return found


@pytest.mark.parametrize("case", cases("words"), ids=lambda c: f"seed {c['seed']}")
def test_uniform(case: dict[str, Any]) -> None:
    key = oracle.batch_key(FINGERPRINT, case["seed"], case["epoch"], case["batch"])
    words = oracle.stream(key, case["hop"], case["node"], case["copy"])
    assert [oracle.uniform(words, n) for n in case["n"]] == case["uniform"]


@pytest.mark.parametrize("case", cases("samples"), ids=lambda c: c["name"])
def test_sample(case: dict[str, Any]) -> None:
    lists = oracle.adjacency(**case["edges"])
    key = oracle.batch_key(FINGERPRINT, case["seed"], case["epoch"], case["batch"])
    batch = oracle.sample(lists, key, case["seeds"], case["fanouts"], case["replace"])
    assert asdict(batch) == case["want"]


@pytest.mark.parametrize("case", cases("epochs"), ids=str)
def test_epoch(case: dict[str, Any]) -> None:
    want = [(b["index"], b["at"]) for b in case.pop("want")]
    assert oracle.batches(FINGERPRINT, **case) == want
