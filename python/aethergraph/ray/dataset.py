"""A Ray dataset of mini-batches, which keeps them whole."""

from collections.abc import Iterable, Sequence
from typing import Any

import ray
from ray.data import DataIterator, Dataset

from aethergraph.ray import ranks
from aethergraph.ray.datasource import AetherGraphDatasource
from aethergraph.ray.iterators import DirectIterator, RayIterator, note_batch_size
from aethergraph.request import Uneven, integer_from_user

READERS = 2  # read tasks at a time: they only move bytes, the engine does the work
BATCHES_PER_TASK = 16
MAX_TASKS = 1000


class SamplingDataset(Dataset):
    """A `ray.data.Dataset` whose rows are mini-batches and whose every iteration is the next epoch.

    It has Ray's constructor, for Ray copies and pickles datasets as it likes; all that is ours lies in the datasource.
    A look (`take`, `limit`, `schema`, `count`, `repr`) takes no epoch. What Ray makes of it (`map_batches`, …) is a
    plain dataset over the same source: each of its executions takes an epoch, and `iter_batches` merges rows by
    default.
    """

    @property
    def source(self) -> AetherGraphDatasource:
        """What is sampled."""
        source: AetherGraphDatasource = self._logical_plan.dag.datasource
        return source

    def num_batches(self) -> int:
        """How many mini-batches an iteration gives here (in a Ray Train worker: to this rank). Runs nothing."""
        return self.source.num_batches()

    def count(self) -> int:
        """The number of rows, which are mini-batches. Runs nothing."""
        return self.num_batches()

    @property
    def epoch(self) -> int:
        """The epoch that the next iteration will have."""
        return self.source.epochs.next

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration have this epoch, and those after it the next ones."""
        self.source.epochs.set(integer_from_user("epoch", epoch))

    def iterator(self) -> DataIterator:
        """Straight from the engine in a Ray Train worker, where read tasks would wait for CPUs; else by Ray."""
        if ranks.of_train_worker() is not None:
            return DirectIterator(self.source, self.context)
        return RayIterator(self)

    def iter_batches(self, *, batch_size: int | None = 1, **options: Any) -> Iterable[Any]:
        """Dataset.iter_batches; a batch has `batch_size` whole mini-batches, one unless told otherwise."""
        note_batch_size(batch_size)
        return super().iter_batches(batch_size=batch_size, **options)

    def iter_torch_batches(self, *, batch_size: int | None = 1, **options: Any) -> Iterable[Any]:
        """Dataset.iter_torch_batches; gives PyG Data unless there is a collate_fn (or dtypes)."""
        note_batch_size(batch_size)
        return super().iter_torch_batches(batch_size=batch_size, **options)

    def streaming_split(
        self, n: int, *, equal: bool = False, locality_hints: list[str] | None = None
    ) -> list[DataIterator]:
        """Splits every epoch into n shards, each of which streams from the engine of the machine where it is consumed.

        Shard i gives batches i, i + n, …: with `equal` the same number each (by the dataset's `uneven`, which repeats
        some by default), else as they come. Nothing waits for the other shards; nothing depends on where they are.
        """
        return [DirectIterator(self.source.shard(i, n, equal=equal), self.context) for i in range(n)]

    def limit(self, limit: int) -> Dataset:
        """The first mini-batches of the next epoch, with an epoch of its own; no more than these are sampled."""
        return Dataset.limit(_read(self.source.head(limit), READERS), limit)

    def _execute(self, preserve_order: bool = False) -> Any:
        # On a copy: Ray would keep the result and give the same epoch for ever after.
        return Dataset.copy(self, _deep_copy=True, _as=Dataset)._execute(preserve_order)


def create_sampling_dataset(
    graph_path: str,
    num_neighbors: list[int],
    input_nodes: Any = None,
    batch_size: int = 1024,
    replace: bool = False,
    features_path: str | None = None,
    parallelism: int | None = None,
    *,
    seed: int = 0,
    epoch: int = 0,
    shuffle: bool = False,
    drop_last: bool = False,
    edge_ids: bool = True,
    node_attrs: Sequence[str] | None = None,
    original_ids: bool = False,
    input_original: bool = False,
    rank: int | None = None,
    world_size: int | None = None,
    uneven: Uneven | None = None,
    memory: int | None = None,
    features_dtype: str | None = None,
) -> SamplingDataset:
    """Makes a dataset of mini-batches, sampled around the input nodes of a graph.

    The machine's engine for the graph is found or started. In a Ray Train worker (or under torchrun) an iteration gives
    the worker's share of the epoch, the same number of mini-batches on each.

    Args:
        graph_path: a file made by `aether-ooc build`, on every machine that iterates.
        num_neighbors: how many neighbours to draw per hop; -1 takes all.
        input_nodes: the seeds of an epoch: ids as a list, NumPy array or torch tensor, a mask of bool over all nodes,
            or None for all nodes.
        batch_size: seeds per mini-batch; the last one may have fewer.
        replace: draw with replacement.
        features_path: a .npy file with a row per node, in place of the features that were built with the graph.
        parallelism: how many of Ray's read tasks run at a time (2); they move bytes, the engine does the work.
        seed: fixes every draw, together with the epoch and the number of the mini-batch.
        epoch: of the first iteration; each iteration takes the next.
        shuffle: permute the input nodes anew in each epoch.
        drop_last: leave out a last mini-batch with fewer seeds.
        edge_ids: give `e_id`; without it fewer blocks are read.
        node_attrs: the names of the node attributes to give; None gives all that the graph has.
        original_ids: give `n_id_original`, the ids that the nodes of n_id had before `build(relabel="ids")`.
        input_original: input_nodes holds such ids; not for a mask.
        rank: this process's share, together with world_size, where it should not be found out.
        world_size: how many shares there are.
        uneven: where world_size does not divide the mini-batches: "wrap" starts again from the first (default), "drop"
            leaves the rest out, "ragged" gives ranks different numbers (for evaluation).
        memory: bytes that the engine may hold, if it is started by this call; else a quarter of what the machine or
            control group allows.
        features_dtype: "bf16" where the 16-bit words of features_path are bfloat16, which .npy has no name for.

    Raises:
        ValueError: an argument that makes no sense; the message names it.
        IndexError: an input node that the graph does not have.
        FileNotFoundError: no such file on this machine.
        CorruptGraphError: a file is damaged.
        MemoryError: the budget is too small; the message says what the least is.
        EngineError: the engine does not start.
    """
    readers = READERS if parallelism is None else integer_from_user("parallelism", parallelism)
    if readers < 1:
        raise ValueError(f"parallelism: {parallelism} is no number of read tasks: give at least 1, or None")
    source = AetherGraphDatasource(
        graph_path,
        num_neighbors,
        input_nodes,
        batch_size,
        replace,
        features_path,
        seed=seed,
        epoch=epoch,
        shuffle=shuffle,
        drop_last=drop_last,
        edge_ids=edge_ids,
        node_attrs=node_attrs,
        original_ids=original_ids,
        input_original=input_original,
        rank=rank,
        world_size=world_size,
        uneven=uneven,
        memory=memory,
        features_dtype=features_dtype,
    )
    return _read(source, readers)


def _read(source: AetherGraphDatasource, readers: int) -> SamplingDataset:
    """The dataset over a source. Every block has one mini-batch, and they come in order."""
    tasks = _tasks(source.num_batches(), readers)
    plain = ray.data.read_datasource(
        source,
        num_cpus=0,  # Train workers hold every CPU
        concurrency=readers if tasks > readers else None,  # Ray warns of one that cannot be reached
        override_num_blocks=tasks,
    )
    plain.context.target_max_block_size = 1  # else Ray joins blocks up to 128 MiB, which copies
    plain.context.execution_options.preserve_order = True
    return Dataset.copy(plain, _as=SamplingDataset)


def _tasks(batches: int, readers: int) -> int:
    """Short tasks, so that order costs no parallelism; but not tens of thousands."""
    return max(1, min(batches, MAX_TASKS, max(readers, -(-batches // BATCHES_PER_TASK))))
