"""Iterators that give one mini-batch per turn unless told otherwise, where Ray's give 256 rows.

MiniBatches (the defaults)
├── RayIterator      over a dataset that Ray executes
└── DirectIterator   over the machine's engine: for Ray Train workers, which hold every CPU, and for shards
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import torch
from ray.data import DataContext, DataIterator, Schema
from ray.data._internal.block_batching.interfaces import FinalizedData, ResolvedBlock
from ray.data._internal.block_batching.iter_batches import BatchIterator
from ray.data._internal.iterator.iterator_impl import DataIteratorImpl
from ray.data.collate_fn import ArrowBatchCollateFn
from torch_geometric.data import Data

from aethergraph.client import ResumingStream
from aethergraph.collate import collate_to_pyg, expect_unions
from aethergraph.ray.datasource import AetherGraphDatasource


class CollateToPyG(ArrowBatchCollateFn):
    """collate_to_pyg as Ray's iter_torch_batches takes it."""

    def __call__(self, batch: pa.Table) -> Data:
        """The mini-batches of the table as one Data."""
        return collate_to_pyg(batch)


class MiniBatches(DataIterator):
    """The defaults of a DataIterator for mini-batches."""

    def iter_batches(self, *, batch_size: int | None = 1, **options: Any) -> Iterable[Any]:
        """DataIterator.iter_batches; a batch has `batch_size` mini-batches, one unless told otherwise."""
        note_batch_size(batch_size)
        return super().iter_batches(batch_size=batch_size, **options)

    def iter_torch_batches(
        self, *, batch_size: int | None = 1, collate_fn: Any = None, dtypes: Any = None, **options: Any
    ) -> Iterable[Any]:
        """DataIterator.iter_torch_batches; gives PyG Data on `device` unless there is a collate_fn (or dtypes)."""
        note_batch_size(batch_size)
        if collate_fn is None and dtypes is None:
            collate_fn = CollateToPyG()
        return super().iter_torch_batches(batch_size=batch_size, collate_fn=collate_fn, dtypes=dtypes, **options)

    def _get_finalize_fn(self, *, device: torch.device) -> Any:
        rays = super()._get_finalize_fn(device=device)

        def finalize(batch: Any) -> Any:
            return FinalizedData(data=batch.to(device)) if isinstance(batch, Data) else rays(batch)

        return finalize


def note_batch_size(batch_size: int | None) -> None:
    """Who asks for several rows at a time wants their union."""
    if batch_size is not None and batch_size > 1:
        expect_unions()


class RayIterator(MiniBatches, DataIteratorImpl):
    """Over a dataset that Ray executes."""


class DirectIterator(MiniBatches):
    """Over the machine's engine, without tasks and object store. Each iteration is an epoch. May be pickled."""

    def __init__(self, source: AetherGraphDatasource, context: DataContext) -> None:
        self._source = source
        self._context = context

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration have this epoch."""
        self._source.epochs.set(epoch)

    def num_batches(self) -> int:
        """How many mini-batches an iteration gives."""
        return self._source.num_batches()

    def schema(self) -> Schema:
        """The schema of the rows."""
        return Schema(self._source.schema, data_context=self._context)

    def stats(self) -> str:
        """In place of Ray Data's stages, of which there are none."""
        return "Mini-batches came straight from the engine; `aether-ooc` counts its work in its own statistics."

    def get_context(self) -> DataContext:
        """The context that the dataset was made with."""
        return self._context

    def __repr__(self) -> str:
        return f"DirectIterator({self._source.client.spec.graph_path}, {self.num_batches()} mini-batches)"

    def _to_ref_bundle_iterator(self) -> "tuple[Iterator[pa.Table], None, _Running]":
        running = _Running(self._source)
        return running.tables(), None, running

    def _create_batch_iterator(self, tables: Iterator[pa.Table], **options: Any) -> BatchIterator:
        return _TableBatchIterator(tables, **options)


class _Running:
    """One iteration, in the place where Ray's iterators have the executor of one."""

    def __init__(self, source: AetherGraphDatasource) -> None:
        self._stream: ResumingStream | None = source.stream() if source.num_batches() else None

    def tables(self) -> Iterator[pa.Table]:
        """The batches. Runs in a thread of Ray's, ahead of the consumer."""
        for batch in self._stream or ():
            yield pa.Table.from_batches([batch])

    def shutdown(self, force: bool = True) -> None:
        """Called at the iteration's end, early or not: has the engine stop."""
        if self._stream is not None:
            self._stream.close()

    def set_external_consumer_bytes(self, num_bytes: int) -> None:
        """Called with what is prefetched. The engine holds back by itself: it sends no more than is read."""


class _TableBatchIterator(BatchIterator):
    """Ray's pipeline of batching, formatting and collating, fed with tables instead of references to them."""

    def _prefetch_blocks(self, ref_bundles: Iterator[pa.Table]) -> Iterator[pa.Table]:
        return ref_bundles

    def _resolve_block_refs(self, block_refs: Iterator[pa.Table]) -> Iterator[ResolvedBlock]:
        return map(ResolvedBlock, block_refs)
