"""How the engine is spoken to. Above this module nobody knows by which door.

    Transport (what is asked)          BatchStream (what comes)
        └── FlightTransport                └── one pyarrow.RecordBatch of one row per mini-batch

Calls may come from several threads; a stream belongs to one, though any may close it.

gRPC's threads do not survive a fork, and a child that uses gRPC after its parent has hangs. So connections are let go
just before a fork, and made anew when next used, in parent and child. What cannot be let go is a stream or a call in
progress: then the child gets an error that says so.
"""

import json
import os
import re
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import flight

from aethergraph.errors import (
    CorruptGraphError,
    EngineError,
    EngineGoneError,
    GraphMismatchError,
    UnknownUploadError,
)
from aethergraph.request import PROTOCOL_VERSION


class BatchStream(Protocol):
    """Mini-batches, one after another. Close it to have the engine stop working on them."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def __next__(self) -> pa.RecordBatch: ...

    def close(self) -> None:
        """Ends the stream, from any thread. A second call does nothing."""
        ...


class Transport(Protocol):
    """One engine. Every call raises EngineGoneError when it does not answer, and else what errors.py says."""

    def info(self) -> dict[str, Any]:
        """What the engine serves: the counts, fingerprints, columns and budget of its graph."""
        ...

    def stats(self) -> dict[str, Any]:
        """What the engine has done: reads, hits, bytes, memory."""
        ...

    def num_batches(self, ticket: bytes) -> int:
        """How many batches a stream of the ticket gives."""
        ...

    def lookup(self, originals: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nodes that had these ids before `build --relabel`."""
        ...

    def schema(self, ticket: bytes) -> pa.Schema:
        """The schema of those batches."""
        ...

    def stream(self, ticket: bytes) -> BatchStream:
        """The batches of the ticket, in order."""
        ...

    def upload(self, digest: str, ids: NDArray[np.int64]) -> None:
        """Sends a list of seeds, which tickets then name by its digest (see Seeds)."""
        ...

    def close(self) -> None:
        """Lets go of the engine. It ends by itself when nobody needs it."""
        ...


# Rows of one message of an upload: a quarter of what a gRPC server takes by default.
_UPLOAD_ROWS = (1 << 20) // 8

# gRPC shares connections, and the pause after a failed one, between all clients of an address in a process: a client
# of a restarted engine would wait for its dead namesake. Its own pool avoids that.
_CHANNEL_OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]


class _ForkGuard:
    """Knows all of the process that keeps gRPC alive, and lets it go before a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._transports: weakref.WeakSet[FlightTransport] = weakref.WeakSet()
        self._streams: weakref.WeakSet[FlightStream] = weakref.WeakSet()
        self._calls = 0
        self._others: set[str] | None = None  # gRPC threads that are not ours: Ray has its own; None: we have none
        self._abandoned: list[Any] = []  # a parent's readers, whose destructors would wait for its threads
        self._broken = False
        os.register_at_fork(before=self._before, after_in_parent=self._in_parent, after_in_child=self._in_child)

    def connect(self, transport: "FlightTransport", location: str) -> flight.FlightClient:
        """A client that the transport holds in an attribute, and gives up when it is told to let go."""
        with self._lock:
            if self._others is None:
                self._others = _grpc_threads()
            self._transports.add(transport)
            return flight.FlightClient(location, generic_options=_CHANNEL_OPTIONS)

    def add_stream(self, stream: "FlightStream") -> None:
        """Registers an open stream."""
        with self._lock:
            self._streams.add(stream)

    @contextmanager
    def call(self) -> Iterator[None]:
        """A call in progress. Raises EngineError where gRPC cannot work."""
        if self._broken:
            raise EngineError(
                "this process was forked while its parent had a stream of mini-batches, or a call, in progress, which "
                "gRPC does not survive: start it with multiprocessing's 'spawn' or 'forkserver', or fork before or "
                "after iterating"
            )
        with self._lock:
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1

    def _readers(self) -> list[flight.FlightStreamReader]:
        return [stream.reader for stream in self._streams if stream.reader is not None]

    def _before(self) -> None:
        self._lock.acquire()
        for transport in self._transports:
            transport.let_go()
        if self._others is not None and not self._calls and not self._readers():
            self._wait_for_grpc_to_end(self._others)
            self._others = None

    @staticmethod
    def _wait_for_grpc_to_end(others: set[str]) -> None:
        """It ends in the background, soon after its last user. Ray's threads, which look the same, may delay us."""
        deadline = time.monotonic() + _FORK_WAIT_S
        quiet = 0
        while quiet < 3 and time.monotonic() < deadline:
            quiet = 0 if _grpc_threads() - others else quiet + 1
            time.sleep(0.002)

    def _in_parent(self) -> None:
        self._lock.release()

    def _in_child(self) -> None:
        readers = self._readers()
        self._broken = self._broken or self._calls > 0 or bool(readers)
        self._abandoned += readers
        self._calls = 0
        self._lock = threading.Lock()


_FORK_WAIT_S = 1.0
_GRPC_THREADS = ("event_engine", "grpc_", "lifeguard")


def _grpc_threads() -> set[str]:
    """The ids of this process's threads that are gRPC's, by their names."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            if (task / "comm").read_text().startswith(_GRPC_THREADS):
                found.add(task.name)
    return found


class FlightTransport:
    """A Transport over Arrow Flight, on a unix socket (or any location that Flight knows)."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._client: flight.FlightClient | None = None

    def info(self) -> dict[str, Any]:
        """Transport.info."""
        return self._json_action("info")

    def stats(self) -> dict[str, Any]:
        """Transport.stats."""
        return self._json_action("stats")

    def num_batches(self, ticket: bytes) -> int:
        """Transport.num_batches."""
        return int(self._json_action("num_batches", ticket)["batches"])

    def lookup(self, originals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Transport.lookup."""
        body = json.dumps({"version": PROTOCOL_VERSION, "originals": originals.tolist()}).encode()
        return np.array(self._json_action("lookup", body)["nodes"], np.int64)

    def schema(self, ticket: bytes) -> pa.Schema:
        """Transport.schema."""
        return pa.ipc.read_schema(pa.py_buffer(self._action("schema", ticket)))

    def stream(self, ticket: bytes) -> "FlightStream":
        """Transport.stream."""
        with _forks.call(), _errors_translated():
            return FlightStream(self._connected().do_get(flight.Ticket(ticket)))

    def upload(self, digest: str, ids: NDArray[np.int64]) -> None:
        """Transport.upload."""
        table = pa.table([pa.array(ids)], schema=pa.schema([pa.field("nodes", pa.int64(), nullable=False)]))
        command = json.dumps({"version": PROTOCOL_VERSION, "upload": digest}).encode()
        with _forks.call(), _errors_translated():
            writer, _ = self._connected().do_put(flight.FlightDescriptor.for_command(command), table.schema)
            with writer:
                writer.write_table(table, max_chunksize=_UPLOAD_ROWS)

    def close(self) -> None:
        """Transport.close. A call in progress ends as it would have."""
        self.let_go()

    def let_go(self) -> None:
        """Forgets the connection, which ends with its last user; the next call makes another."""
        self._client = None

    def _connected(self) -> flight.FlightClient:
        client = self._client
        if client is None:
            self._client = client = _forks.connect(self, self._location)
        return client

    def _action(self, name: str, body: bytes = b"") -> bytes:
        with _forks.call(), _errors_translated():
            results = list(self._connected().do_action(flight.Action(name, body)))
        return b"".join(result.body.to_pybytes() for result in results)

    def _json_action(self, name: str, body: bytes = b"") -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._action(name, body))
        return answer

    def __getstate__(self) -> dict[str, Any]:
        return {"location": self._location}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["location"])  # type: ignore[misc]


class FlightStream:
    """A BatchStream over one DoGet."""

    def __init__(self, reader: flight.FlightStreamReader) -> None:
        self.reader: flight.FlightStreamReader | None = reader
        _forks.add_stream(self)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pa.RecordBatch:
        reader = self.reader
        if reader is None:
            raise StopIteration
        try:
            with _forks.call(), _errors_translated():
                return reader.read_chunk().data
        except BaseException as e:
            closed, self.reader = self.reader is None, None
            if closed and isinstance(e, EngineGoneError):  # by another thread, in the middle of the read
                raise StopIteration from None
            raise

    def close(self) -> None:
        """BatchStream.close."""
        reader, self.reader = self.reader, None
        if reader is not None:
            reader.cancel()


_forks = _ForkGuard()

# pyarrow has one exception for several gRPC codes; the words before the server's message tell them apart.
_KINDS: dict[str, type[Exception]] = {
    "invalid argument error": ValueError,
    "out-of-range error": IndexError,
    "not found error": FileNotFoundError,
    "data loss error": CorruptGraphError,
    "precondition failed error": GraphMismatchError,
    "resource exhausted error": MemoryError,
    "unavailable error": EngineGoneError,
    "cancelled call": EngineGoneError,  # not by us: the engine was ending
}

# "gRPC returned out-of-range error, with message: the server's words. gRPC client debug context: OUT_OF_RANGE:…"
_WORDING = re.compile(
    r"(?:Flight|gRPC) (?:returned )?(?P<kind>[\w -]+?),? with message: "
    r"(?P<message>.*?)(?:\. gRPC client debug context: .*)?$",
    re.DOTALL,
)


@contextmanager
def _errors_translated() -> Iterator[None]:
    """Within it, what pyarrow raises for a gRPC code becomes what docs/PROTOCOL.md says."""
    try:
        yield
    except pa.ArrowException as e:
        raise _translated(str(e.args[0] if e.args else e)) from None


def _translated(text: str) -> Exception:
    match = _WORDING.match(text)
    if match is None:
        return EngineError(text)
    message = match["message"].strip()
    kind = _KINDS.get(match["kind"], EngineError)
    if kind is FileNotFoundError and "upload" in message:
        return UnknownUploadError(message)
    return kind(message)
