"""Asks an engine, and does not mind when it is gone: it starts it again and repeats the request.

    Client ──ensure──► engine.py (finds or starts)          a call: repeated as a whole
       └────────────► Transport ──► the engine              a stream: resumed at the batch that it had reached

A batch depends on the request alone (docs/PROTOCOL.md), so a repeated one is the same. A client may be used from any
thread and process: pickled or forked, it connects anew.
"""

import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aethergraph import engine
from aethergraph.engine import EngineSpec
from aethergraph.errors import EngineError, EngineGoneError, UnknownUploadError
from aethergraph.request import Request
from aethergraph.transport import BatchStream, FlightTransport, Transport

LOOKUP_IDS = 1 << 17  # of one question
MAX_RESTARTS = 3  # in a row, without a batch between

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Client:
    """An engine as its users want it: always there, and knowing their seeds."""

    def __init__(self, wanted: EngineSpec) -> None:
        self._spec = wanted
        self._transport: Transport | None = None

    @property
    def spec(self) -> EngineSpec:
        """Which engine this is."""
        return self._spec

    def info(self) -> dict[str, Any]:
        """See Transport.info."""
        return self._call(lambda t: t.info())

    def stats(self) -> dict[str, Any]:
        """See Transport.stats."""
        return self._call(lambda t: t.stats())

    def num_batches(self, request: Request) -> int:
        """How many batches a stream of the request gives."""
        return self._call(lambda t: t.num_batches(request.ticket()), request)

    def lookup(self, originals: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nodes that had these ids before `build(relabel=…)`; IndexError for one that no node had."""
        parts = np.array_split(originals, max(1, -(-len(originals) // LOOKUP_IDS)))
        return np.concatenate([self._lookup(part) for part in parts])

    def _lookup(self, originals: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._call(lambda t: t.lookup(originals))

    def schema(self, request: Request) -> pa.Schema:
        """The schema of those batches."""
        return self._call(lambda t: t.schema(request.ticket()), request)

    def stream(self, request: Request) -> "ResumingStream":
        """The batches of the request, in order, one record batch of one row each."""
        return ResumingStream(self, request)

    def close(self) -> None:
        """Lets go of the connection. The next call makes a new one."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()

    def open_stream(self, request: Request) -> BatchStream:
        """A stream that does not resume."""
        return self._call(lambda t: t.stream(request.ticket()), request)

    def check_memory(self, info: dict[str, Any]) -> None:
        """Warns when the engine was started with another budget than the one that is wanted here."""
        wanted, budget = self._spec.memory, info["budget_bytes"]
        if wanted is not None and budget != wanted:
            warnings.warn(
                f"memory={wanted} has no effect: the engine of {self._spec.graph_path} runs already, with {budget} "
                "bytes. It ends by itself when it has been idle; or give the same budget wherever it is used.",
                stacklevel=4,
            )

    def _call(self, ask: Callable[[Transport], T], request: Request | None = None) -> T:
        restarts = uploads = 0
        while True:
            try:
                return ask(self._connected())
            except EngineGoneError as e:
                restarts += 1
                self.gone(restarts, e)
            except UnknownUploadError as e:
                uploads += 1
                self._upload(request, uploads, e)

    def gone(self, times: int, error: EngineGoneError) -> None:
        """Forgets an engine that does not answer; raises EngineError when that has happened too often in a row."""
        self.close()
        at = engine.endpoint(self._spec)
        if times > MAX_RESTARTS:
            raise EngineError(
                f"the engine of {self._spec.graph_path} was lost {times} times in a row ({error}). "
                f"Its last words, from {at.log}:\n{engine.log_tail(at)}"
            ) from error
        logger.warning("The engine of %s is gone (%s): starting it again.", self._spec.graph_path, error)

    def _upload(self, request: Request | None, times: int, error: UnknownUploadError) -> None:
        if request is None or request.seeds is None or times > MAX_RESTARTS:
            raise EngineError(f"the engine asks for seeds that it was sent: {error}") from error
        seeds = request.seeds
        self._call(lambda t: t.upload(seeds.digest, seeds.load()))

    def _connected(self) -> Transport:
        transport = self._transport
        if transport is None:  # two threads may both connect; one connection is then let go
            self._transport = transport = FlightTransport(engine.ensure(self._spec).location)
        return transport

    def __getstate__(self) -> EngineSpec:
        return self._spec

    def __setstate__(self, wanted: EngineSpec) -> None:
        self.__init__(wanted)  # type: ignore[misc]


class ResumingStream:
    """A stream of record batches that outlives engines: it goes on at the batch that it had reached.

    Close it to have the engine stop; an exhausted one is closed.
    """

    def __init__(self, client: Client, request: Request) -> None:
        self._client = client
        self._request = request
        self._given = 0
        self._lost = 0
        self._closed = False
        self._stream: BatchStream | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        while not self._closed and not self._complete():
            try:
                batch = next(self._opened())
            except EngineGoneError as e:
                self._stream = None
                self._lost += 1
                self._client.gone(self._lost, e)
                continue
            self._given += 1
            self._lost = 0
            return self._as_asked(batch)
        self.close()
        raise StopIteration

    def close(self) -> None:
        """Ends the stream, from any thread. A second call does nothing."""
        self._closed = True
        if self._stream is not None:
            self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _complete(self) -> bool:
        return self._request.count > 0 and self._given == self._request.count

    def _opened(self) -> BatchStream:
        if self._stream is None:
            self._stream = self._client.open_stream(self._rest())
        return self._stream

    def _rest(self) -> Request:
        r = self._request
        return r.at(first=r.first + self._given, count=r.count and r.count - self._given)

    def _as_asked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        seeds = self._request.seeds
        return _node_ids_as_input_id(batch) if seeds is not None and seeds.mask else batch


def _node_ids_as_input_id(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The server knows a mask as a list, and numbers its places; PyG wants node ids, which are the first of n_id."""
    ids = batch.column("n_id")[0].values.slice(0, batch.column("batch_size")[0].as_py())
    at = batch.schema.get_field_index("input_id")
    field = batch.schema.field(at)
    column = pa.LargeListArray.from_arrays(pa.array([0, len(ids)], pa.int64()), ids, type=field.type)
    return batch.set_column(at, field, column)
