"""How the engine is spoken to. Above this module nobody knows by which door.

    Transport (what is asked)          BatchStream (what comes)
        └── FlightTransport                └── one pyarrow.RecordBatch of one row per mini-batch

A transport belongs to one process. gRPC does not survive a fork, so a FlightTransport opens its client anew in a child,
and leaves the parent's alone there. Calls may come from several threads; a stream belongs to one, though any may close
it.
"""

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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

# Clients that a fork took along. Their destructor would wait for threads that the child does not have.
_inherited: list[flight.FlightClient] = []


class FlightTransport:
    """A Transport over Arrow Flight, on a unix socket (or any location that Flight knows)."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._lock = threading.Lock()
        self._client: flight.FlightClient | None = None
        self._pid = 0

    def info(self) -> dict[str, Any]:
        """Transport.info."""
        return self._json_action("info")

    def stats(self) -> dict[str, Any]:
        """Transport.stats."""
        return self._json_action("stats")

    def num_batches(self, ticket: bytes) -> int:
        """Transport.num_batches."""
        return int(self._json_action("num_batches", ticket)["batches"])

    def schema(self, ticket: bytes) -> pa.Schema:
        """Transport.schema."""
        return pa.ipc.read_schema(pa.py_buffer(self._action("schema", ticket)))

    def stream(self, ticket: bytes) -> "FlightStream":
        """Transport.stream."""
        with _errors_translated():
            return FlightStream(self._connected().do_get(flight.Ticket(ticket)))

    def upload(self, digest: str, ids: NDArray[np.int64]) -> None:
        """Transport.upload."""
        table = pa.table([pa.array(ids)], schema=pa.schema([pa.field("nodes", pa.int64(), nullable=False)]))
        command = json.dumps({"version": PROTOCOL_VERSION, "upload": digest}).encode()
        with _errors_translated():
            writer, _ = self._connected().do_put(flight.FlightDescriptor.for_command(command), table.schema)
            with writer:
                writer.write_table(table, max_chunksize=_UPLOAD_ROWS)

    def close(self) -> None:
        """Transport.close."""
        with self._lock:
            client, self._client = self._client, None
            if client is not None and self._pid == os.getpid():
                client.close()

    def _connected(self) -> flight.FlightClient:
        with self._lock:
            if self._client is None or self._pid != os.getpid():
                if self._client is not None:
                    _inherited.append(self._client)
                self._client = flight.FlightClient(self._location, generic_options=_CHANNEL_OPTIONS)
                self._pid = os.getpid()
            return self._client

    def _action(self, name: str, body: bytes = b"") -> bytes:
        with _errors_translated():
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
        self._reader = reader
        self._closed = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pa.RecordBatch:
        try:
            with _errors_translated():
                return self._reader.read_chunk().data
        except EngineGoneError:
            if self._closed:  # by another thread, in the middle of the read
                raise StopIteration from None
            raise

    def close(self) -> None:
        """BatchStream.close."""
        self._closed = True
        self._reader.cancel()


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
