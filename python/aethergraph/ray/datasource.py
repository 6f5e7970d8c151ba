"""What Ray reads: mini-batches, from the engine of the machine that a read task runs on."""

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import pyarrow as pa
import ray
from ray.data.block import BlockMetadata
from ray.data.context import DataContext
from ray.data.datasource import Datasource, ReadTask

from aethergraph import engine, seeds
from aethergraph.client import Client, ResumingStream
from aethergraph.epochs import EpochCounter
from aethergraph.ray import ranks
from aethergraph.reading import ReadBatches, StoredSeeds
from aethergraph.request import Request, Uneven, fanouts_from_user, integer_from_user

# Lists of seeds beyond this travel to read tasks by Ray's object store, in one copy, and not with each task.
INLINE_SEEDS = 8192


class AetherGraphDatasource(Datasource):
    """Mini-batches of sampled neighbourhoods as a Ray Data source: one row is one mini-batch.

    `ray.data.read_datasource(AetherGraphDatasource(...))` gives a plain dataset with Ray's defaults, under which
    `iter_batches` merges rows: pass `batch_size=1`. `create_sampling_dataset` gives one that needs no care.

    Which rank's share is read, and which epoch, is settled when an execution starts; each takes the next epoch.
    """

    def __init__(
        self,
        graph_path: str,
        num_neighbors: Sequence[int],
        input_nodes: Any = None,
        batch_size: int = 1024,
        replace: bool = False,
        features_path: str | None = None,
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
    ) -> None:
        """Finds or starts the engine, and checks the request with it. For the arguments see create_sampling_dataset."""
        super().__init__()
        ranks.check_given(rank, world_size)
        request = Request(
            fanouts_from_user(num_neighbors),
            integer_from_user("batch_size", batch_size),
            replace=bool(replace),
            edge_ids=bool(edge_ids),
            node_attrs=None if node_attrs is None else tuple(node_attrs),
            original_ids=bool(original_ids),
            seed=integer_from_user("seed", seed),
            epoch=integer_from_user("epoch", epoch),
            shuffle=bool(shuffle),
            drop_last=bool(drop_last),
            rank=integer_from_user("rank", rank or 0),
            world_size=integer_from_user("world_size", 1 if world_size is None else world_size),
            uneven="wrap" if uneven is None else uneven,
        ).check()
        self._ranks_given = rank is not None
        self._uneven_given = uneven is not None
        graph_path = ranks.path_as_on_driver(graph_path)
        features_path = features_path and ranks.path_as_on_driver(features_path)
        self._client = Client(engine.spec(graph_path, features_path, memory, features_dtype))
        info = self._client.info()
        self._client.check_memory(info)
        if input_original:
            nodes = seeds.from_originals(input_nodes, self._client.lookup)
        else:
            nodes = seeds.from_user(input_nodes, info["nodes"])
        self._request = request.at(seeds=nodes).of(info)
        self._epochs = EpochCounter(request.epoch)
        self._epoch_batches = self._client.num_batches(self._request.at(rank=0, world_size=1))
        self._head: int | None = None
        self.schema: pa.Schema = self._client.schema(self._request)

    # ── what is sampled ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def client(self) -> Client:
        """The machine's engine."""
        return self._client

    @property
    def epochs(self) -> EpochCounter:
        """Which epoch the next iteration has."""
        return self._epochs

    def num_batches(self) -> int:
        """How many batches this process's rank gets in an epoch. Asks nobody."""
        share = self._ranked().share(self._epoch_batches)
        return share if self._head is None else min(share, self._head)

    def stream(self) -> ResumingStream:
        """This rank's batches of the next epoch, straight from the engine."""
        request = self._ranked()
        ranks.check_same_graph(self._client.spec.graph_path, request)
        return self._client.stream(request.at(epoch=self._epochs.take(), count=self.num_batches()))

    def shard(self, index: int, shards: int, *, equal: bool) -> Self:
        """A source of every `shards`-th batch of this one's share, with an epoch counter of its own."""
        request = self._request
        shard = self._copy(self._epochs.shard(index))
        shard._ranks_given = True
        shard._request = request.at(
            rank=request.rank + request.world_size * index,
            world_size=request.world_size * shards,
            uneven=request.uneven if self._uneven_given or equal else "ragged",
        )
        return shard

    def head(self, batches: int) -> Self:
        """A source of the first batches of the next epoch, with an epoch counter of its own: for a look."""
        head = self._copy(EpochCounter(self._epochs.next))
        head._head = batches if self._head is None else min(batches, self._head)
        return head

    def _copy(self, epochs: EpochCounter) -> Self:
        other = copy.copy(self)
        other._epochs = epochs
        return other

    def _ranked(self) -> Request:
        if self._ranks_given:
            return self._request
        rank, world_size = ranks.resolve(None, None)
        return self._request.at(rank=rank, world_size=world_size)

    # ── as Ray wants it ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def supports_distributed_reads(self) -> bool:
        """False: read tasks stay on the node of whoever iterates, whose engine has the graph and its cache."""
        return False

    def estimate_inmemory_data_size(self) -> int | None:
        """None: Ray would cut and join blocks by it, and each of ours is one mini-batch already."""
        return None

    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: DataContext | None = None,
    ) -> list[ReadTask]:
        """Cuts the rank's share into at most `parallelism` ranges of consecutive batches.

        Ray calls this several times for one execution, to count and to describe; only the call that starts it has a
        data_context, and only that one takes the epoch.
        """
        epoch = self._epochs.next if data_context is None else self._epochs.take()
        self._store_long_lists()
        request = self._ranked().at(epoch=epoch)
        return [self._read_task(request, r, per_task_row_limit) for r in _ranges(self.num_batches(), parallelism)]

    def _read_task(self, request: Request, batches: range, row_limit: int | None) -> ReadTask:
        work: Callable[[], Iterable[pa.Table]] = ReadBatches(
            self._client, request.at(first=batches.start, count=len(batches))
        )
        metadata = BlockMetadata(num_rows=len(batches), size_bytes=None, exec_stats=None, input_files=None)
        return ReadTask(work, metadata, schema=self.schema, per_task_row_limit=row_limit)

    def _store_long_lists(self) -> None:
        nodes = self._request.seeds
        if nodes is None or nodes.count <= INLINE_SEEDS or isinstance(nodes.load, StoredSeeds):
            return
        if ray.is_initialized():
            self._request = self._request.at(seeds=replace(nodes, load=StoredSeeds(ray.put(nodes.load()))))

    def __getstate__(self) -> dict[str, Any]:
        self._store_long_lists()
        return self.__dict__.copy()


def _ranges(n: int, pieces: int) -> list[range]:
    """0 … n-1 in at most `pieces` ranges, none empty, equally long but for one."""
    pieces = min(n, max(1, pieces))
    return [range(n * i // pieces, n * (i + 1) // pieces) for i in range(pieces)]
