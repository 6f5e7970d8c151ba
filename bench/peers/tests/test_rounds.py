"""Who runs when."""

from dataclasses import dataclass

from peers import rounds


@dataclass(frozen=True)
class Runner:
    key: str
    once: bool = False


A, B, SLOW = Runner("a"), Runner("b"), Runner("slow", once=True)


def test_every_round_has_everybody_once_but_the_slow() -> None:
    assert list(rounds.of([A, SLOW, B], 4)) == [[A, SLOW, B], [B, A], [A, B], [B, A]]


def test_one_round() -> None:
    assert list(rounds.of([A, SLOW], 1)) == [[A, SLOW]]


def test_expected_seconds() -> None:
    assert rounds.expected_seconds([A, B], {"a": 2.5, "slow": 90.0}) == 2.5
    assert rounds.expected_seconds([A, B], {"a": 2.5, "b": 1.0}) == 3.5
