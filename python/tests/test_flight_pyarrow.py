"""The server's door as any Flight client sees it: by pyarrow and docs/PROTOCOL.md, without aethergraph's client."""

import hashlib
import json
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import flight
from support import DIM, Array, Graph, assert_row, build, expected

from aethergraph import engine


class Server:
    """`aether-ooc serve` on a socket of its own."""

    def __init__(self, graph: str, *flags: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="agf-", dir="/tmp")
        self.socket = Path(self.folder.name) / "a.sock"
        self.process = subprocess.Popen(
            [engine.command(), "serve", graph, "--listen", f"unix://{self.socket}", "--memory", "256MiB", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.first_words = self.process.stderr.readline()  # it listens, or has said why not
        self._drain = threading.Thread(target=self.process.stderr.read)
        self._drain.start()

    def client(self) -> flight.FlightClient:
        return flight.connect(f"grpc+unix://{self.socket}")

    def end(self) -> int:
        """Ends the server as an operator would; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=30)
        self._drain.join()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()
        left = list(Path(self.folder.name).iterdir())
        self.folder.cleanup()
        assert not left, f"files left: {left}"
        return code


@contextmanager
def serving(graph: str, *flags: str) -> Iterator[Server]:
    server = Server(graph, *flags)
    try:
        yield server
    finally:
        code = server.end()
    assert code == 0, server.first_words


@pytest.fixture(scope="module")
def client(graph: Graph) -> Iterator[flight.FlightClient]:
    with serving(graph.path) as server, server.client() as connected:
        yield connected


def ticket(fanouts: list[int], **fields: Any) -> bytes:
    return json.dumps({"version": 1, "fanouts": fanouts, **fields}).encode()


def batches(client: flight.FlightClient, asked: bytes) -> list[pa.RecordBatch]:
    return [chunk.data for chunk in client.do_get(flight.Ticket(asked))]


def action(client: flight.FlightClient, name: str, body: bytes = b"") -> bytes:
    (result,) = client.do_action(flight.Action(name, body))
    return result.body.to_pybytes()


def info(client: flight.FlightClient) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(action(client, "info"))
    return found


def upload(client: flight.FlightClient, ids: Array, name: str | None = None) -> str:
    digest = name or hashlib.sha256(ids.astype("<i8").tobytes()).hexdigest()
    table = pa.table({"nodes": pa.array(ids)})
    command = json.dumps({"version": 1, "upload": digest}).encode()
    writer, notes = client.do_put(flight.FlightDescriptor.for_command(command), table.schema)
    with writer:
        writer.write_table(table, max_chunksize=1000)
        writer.done_writing()
        note = notes.read()
    if note is not None:
        assert json.loads(note.to_pybytes()) == {"upload": digest, "seeds": len(ids)}
    return digest


@pytest.mark.parametrize("fields", [{}, {"shuffle": True, "seed": 2**64 - 1, "epoch": 2}, {"rank": 1, "world_size": 3}])
def test_gives_the_oracles_batches(client: flight.FlightClient, graph: Graph, fields: dict[str, Any]) -> None:
    got = batches(client, ticket([5, 3], batch_size=64, **fields))
    want = expected(graph, info(client)["fingerprint"], [5, 3], 64, **fields)
    for batch, one in zip(got, want, strict=True):
        batch.validate(full=True)
        (row,) = batch.to_pylist()
        assert_row(graph, row, one)
        for name in ("fingerprint", "content_id", "generator"):
            assert row[name] == info(client)[name]
        for name, values in {"x": graph.x, **graph.attrs}.items():
            assert values is not None
            rows = np.asarray(values[row["n_id"]])
            column = batch.column(name).flatten().to_numpy()
            assert (column.view(rows.dtype).reshape(rows.shape) == rows).all()
            assert row[f"{name}_dtype"] == rows.dtype.name
            assert row[f"{name}_dim"] == (rows.shape[1] if rows.ndim == 2 else 0)


def test_schema_and_counts_without_sampling(client: flight.FlightClient, graph: Graph) -> None:
    asked = ticket([5, 3], batch_size=100, edge_ids=False, node_attrs=["y"])
    schema = pa.ipc.read_schema(pa.py_buffer(action(client, "schema", asked)))
    got = batches(client, asked)
    assert got[0].schema.equals(schema)
    assert not any(field.nullable for field in schema)
    assert "e_id" not in schema.names
    assert schema.names[-3:] == ["y", "y_dim", "y_dtype"]
    assert json.loads(action(client, "num_batches", asked)) == {"batches": len(got), "seeds": graph.nodes}
    command = flight.FlightDescriptor.for_command(asked)
    assert client.get_schema(command).schema.equals(schema)
    found = client.get_flight_info(command)
    assert found.total_records == len(got)
    assert found.endpoints[0].ticket.ticket == asked
    assert [a.type for a in client.list_actions()] == ["info", "stats", "num_batches", "schema", "lookup"]


def test_no_seeds_no_batches(client: flight.FlightClient) -> None:
    reader = client.do_get(flight.Ticket(ticket([5], nodes=[])))
    assert "n_id" in reader.schema.names
    assert reader.read_all().num_rows == 0


def test_info_and_stats(client: flight.FlightClient, graph: Graph) -> None:
    found = info(client)
    file = Path(graph.path).stat()
    assert (found["protocol"], found["path"], found["direction"]) == (1, graph.path, "in")
    assert (found["nodes"], found["edges"]) == (graph.nodes, len(graph.src))
    assert (found["device"], found["inode"], found["budget_bytes"]) == (file.st_dev, file.st_ino, 256 << 20)
    assert (found["features"]["dim"], found["features"]["dtype"]) == (DIM, "float32")
    assert {a["name"]: (a["dim"], a["dtype"]) for a in found["node_attrs"]} == {
        "half": (1, "float16"),
        "pos": (3, "float64"),
        "train_mask": (0, "bool"),
        "y": (0, "int64"),
    }
    before = json.loads(action(client, "stats"))
    got = batches(client, ticket([5]))
    after = json.loads(action(client, "stats"))
    assert after["server"]["batches"] - before["server"]["batches"] == len(got)
    assert after["engine"]["total"]["blocks_asked"] > before["engine"]["total"]["blocks_asked"]


def test_uploads(client: flight.FlightClient, graph: Graph) -> None:
    ids = np.random.default_rng(1).integers(0, graph.nodes, 5003)
    asked = ticket([4], batch_size=2000, nodes={"upload": upload(client, ids)})
    assert upload(client, ids) in asked.decode()  # a second one is a no-op
    want = batches(client, ticket([4], batch_size=2000, nodes=ids.tolist()))
    got = batches(client, asked)
    assert len(got) == 3
    assert all(a.equals(b) for a, b in zip(got, want, strict=True))
    with pytest.raises(pa.ArrowInvalid, match="hash to"):
        upload(client, ids, name="0" * 64)
    with pytest.raises(pa.ArrowKeyError, match="upload"):
        batches(client, ticket([4], nodes={"upload": "0" * 64}))


@pytest.mark.parametrize(
    ("asked", "kind", "words"),
    [
        (b"{", "invalid argument", "bad ticket"),
        (ticket([5], sead=1), "invalid argument", "sead"),
        (b'{"version": 9, "fanouts": [1]}', "invalid argument", "this server speaks 1"),
        (ticket([-2]), "invalid argument", "anout"),
        (ticket([5], batch_size=0), "invalid argument", "batch_size"),
        (ticket([5], nodes=[1.5]), "invalid argument", "nodes"),
        (ticket([5], nodes=[[1]]), "invalid argument", "nodes"),
        (ticket([5], node_attrs=["z"]), "invalid argument", "z"),
        (ticket([5], nodes=[-1]), "out-of-range", "-1"),
        (ticket([5], nodes=[600]), "out-of-range", "0 … 599"),
        (ticket([5], fingerprint="0" * 32), "precondition failed", "fingerprint"),
        (ticket([5], content_id="0" * 32), "precondition failed", "content_id"),
        (ticket([5], generator="pcg/1"), "invalid argument", "generator"),
    ],
)
def test_refusals(client: flight.FlightClient, asked: bytes, kind: str, words: str) -> None:
    with pytest.raises(Exception, match=f"{kind} error.*{words}"):
        batches(client, asked)
    assert batches(client, ticket([5]))  # and the next is served


def test_values_are_aligned(client: flight.FlightClient) -> None:
    """Also those of small messages, which pyarrow leaves where gRPC has read them."""
    for size in (1, 7, 50, 600):
        for batch in batches(client, ticket([5], batch_size=size)):
            for column in batch.columns:
                if pa.types.is_large_list(column.type) and len(values := column.flatten()):
                    assert values.buffers()[1].address % 8 == 0


def test_large_batches(tmp_path: Path) -> None:
    """A batch of 150 MB: no message limit is met on either side."""
    nodes, width = 20_000, 2000
    ids = np.arange(nodes)
    x = np.arange(nodes * width, dtype=np.int64).astype(np.float32).reshape(nodes, width)
    graph = build(tmp_path, ids, (ids + 1) % nodes, nodes, x)
    with serving(graph.path, "--memory", "1GiB") as server, server.client() as client:
        (batch,) = batches(client, ticket([1], batch_size=nodes))
        assert batch.nbytes > 150e6
        n_id = batch.column("n_id").flatten().to_numpy()
        assert (batch.column("x").flatten().to_numpy().reshape(-1, width) == x[n_id]).all()


def test_many_clients_at_once(graph: Graph) -> None:
    with serving(graph.path) as server:
        with server.client() as client:
            want = batches(client, ticket([5, 5], batch_size=50))
        wrong: list[int] = []

        def ask(i: int) -> None:
            with server.client() as client:
                got = batches(client, ticket([5, 5], batch_size=50))
            if not all(a.equals(b) for a, b in zip(got, want, strict=True)):
                wrong.append(i)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_a_cancelled_stream_is_let_go(graph: Graph) -> None:
    with serving(graph.path) as server, server.client() as client:
        reader = client.do_get(flight.Ticket(ticket([5], batch_size=1)))
        reader.read_chunk()
        reader.cancel()
        for _ in range(1000):  # the next call may overtake the cancel
            if json.loads(action(client, "stats"))["server"]["open_streams"] == 0:
                break
        else:
            pytest.fail("the stream is still open")


def test_sigterm_lets_a_running_stream_end(graph: Graph) -> None:
    server = Server(graph.path, "--grace", "30s")
    with server.client() as client:
        reader = client.do_get(flight.Ticket(ticket([5], batch_size=1)))
        reader.read_chunk()
        server.process.send_signal(signal.SIGTERM)
        assert sum(1 for _ in reader) == graph.nodes - 1
    server.process.wait(timeout=30)  # a second SIGTERM would end it at once
    assert server.end() == 0


def test_ends_when_idle(graph: Graph) -> None:
    server = Server(graph.path, "--idle-timeout", "200ms")
    server.process.wait(timeout=30)
    assert server.end() == 0


def test_one_server_per_socket(graph: Graph) -> None:
    with serving(graph.path) as server:
        command = [engine.command(), "serve", graph.path, "--listen", f"unix://{server.socket}", "--memory", "64MiB"]
        second = subprocess.run(command, capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert "already served" in second.stderr
        with server.client() as client:
            assert info(client)["pid"] == server.process.pid


def test_a_killed_servers_socket_is_replaced(graph: Graph) -> None:
    first = Server(graph.path)
    first.process.kill()
    first.process.wait()
    assert first.socket.is_socket()
    again = [engine.command(), "serve", graph.path, "--listen", f"unix://{first.socket}", "--idle-timeout", "100ms"]
    assert subprocess.run([*again, "--memory", "64MiB"], capture_output=True, check=False).returncode == 0
    assert first.end() == -signal.SIGKILL


def test_a_socket_path_too_long(graph: Graph) -> None:
    command = [engine.command(), "serve", graph.path, "--listen", f"unix:///tmp/{'a' * 110}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "107" in done.stderr
