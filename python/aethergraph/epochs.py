"""The epoch that a dataset is in.

It belongs to the dataset, not to the object that happens to hold it: Ray pickles a dataset, and hands out its shards,
as often as it likes. So the count lives in the process, under the dataset's name, and a pickled counter that arrives
joins the count that is already there, unless its owner has set it since.
"""

import threading
import uuid
from dataclasses import dataclass
from typing import Self


@dataclass
class _Count:
    revision: int  # how often it was set
    epoch: int


_counts: dict[str, _Count] = {}
_lock = threading.Lock()


class EpochCounter:
    """Counts the epochs of one dataset, or of one shard of it."""

    def __init__(self, epoch: int = 0, *, name: str | None = None, revision: int = 0) -> None:
        self._name = name or uuid.uuid4().hex
        with _lock:
            count = _counts.setdefault(self._name, _Count(revision, epoch))
            if count.revision < revision:
                count.revision, count.epoch = revision, epoch

    @property
    def next(self) -> int:
        """The epoch that the next iteration will have."""
        with _lock:
            return _counts[self._name].epoch

    def take(self) -> int:
        """The epoch of an iteration that starts now; the next one gets the next."""
        with _lock:
            count = _counts[self._name]
            count.epoch += 1
            return count.epoch - 1

    def set(self, epoch: int) -> None:
        """Makes the next iteration have this epoch."""
        with _lock:
            count = _counts[self._name]
            count.revision, count.epoch = count.revision + 1, epoch

    def shard(self, index: int) -> Self:
        """The counter of a shard, which begins where this one is."""
        return type(self)(self.next, name=f"{self._name}/{index}")

    def __reduce__(self) -> tuple[object, ...]:
        with _lock:
            count = _counts[self._name]
            return _restore, (self._name, count.revision, count.epoch)


def _restore(name: str, revision: int, epoch: int) -> EpochCounter:
    return EpochCounter(epoch, name=name, revision=revision)
