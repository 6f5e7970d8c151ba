"""The work of Ray's read tasks.

Apart from the rest of aethergraph.ray, so that the processes that read need neither torch nor PyG, whose import takes
seconds: they only move Arrow.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aethergraph.client import Client
from aethergraph.request import Request
from aethergraph.seeds import Ids


@dataclass(frozen=True)
class ReadBatches:
    """A range of an epoch's batches, one block each. Small to pickle, whatever the number of seeds."""

    client: Client
    request: Request

    def __call__(self) -> Iterator[pa.Table]:
        """Streams the batches, one table of one row each."""
        with self.client.stream(self.request) as stream:
            for batch in stream:
                yield pa.Table.from_batches([batch])


@dataclass(frozen=True)
class StoredSeeds:
    """Ids in Ray's object store, as Seeds.load."""

    ref: Any  # ray.ObjectRef

    def __call__(self) -> Ids:
        """The ids, fetched now."""
        import ray

        ids: Ids = ray.get(self.ref)
        return ids
