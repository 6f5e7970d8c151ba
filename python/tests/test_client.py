"""The engine asked straight, without Ray: the oracle's batches, errors by kind, engines that come and go."""

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from conftest import engines, wait_for_engines_to_end
from support import Graph, assert_row, build, expected

from aethergraph import CorruptGraphError, EngineError, GraphMismatchError, engine, seeds
from aethergraph.client import Client
from aethergraph.collate import collate_to_pyg
from aethergraph.request import Request
from aethergraph.transport import FlightTransport


def rows(client: Client, request: Request) -> list[dict[str, Any]]:
    with client.stream(request) as stream:
        return [batch.to_pylist()[0] for batch in stream]


def check(graph: Graph, request: Request, **want: Any) -> None:
    client = graph.client()
    info = client.info()
    got = rows(client, request.of(info))
    wanted = expected(graph, info["fingerprint"], request.fanouts, request.batch_size, **want)
    assert len(got) == len(wanted) == client.num_batches(request)
    for row, batch in zip(got, wanted, strict=True):
        assert_row(graph, row, batch)


@pytest.mark.parametrize("fanouts", [(3,), (25, 10), (-1, 2), (0, 3), (2, 2, 2)])
@pytest.mark.parametrize("replace", [False, True])
def test_agrees_with_the_oracle(graph: Graph, fanouts: tuple[int, ...], replace: bool) -> None:
    nodes = [11, 5, 599, 5, 0, 11, 40, 570, 3]  # the hub, loops, repeats, isolated ones
    request = Request(fanouts, 4, seeds.from_user(nodes, graph.nodes), replace=replace, seed=2**40, epoch=3)
    check(graph, request, nodes=nodes, replace=replace, seed=2**40, epoch=3)


@pytest.mark.parametrize(
    "which",
    [
        {},
        {"shuffle": True, "seed": 5, "epoch": 1},
        {"drop_last": True},
        {"rank": 1, "world_size": 4},
        {"rank": 3, "world_size": 4, "uneven": "drop"},
        {"rank": 3, "world_size": 4, "uneven": "ragged", "shuffle": True},
    ],
)
def test_gives_the_oracles_share(graph: Graph, which: dict[str, Any]) -> None:
    check(graph, Request((4,), 70, **which), **which)


def test_resumes_within_a_share(graph: Graph) -> None:
    client = graph.client()
    request = Request((4,), 70, rank=1, world_size=2)
    assert rows(client, request)[2:4] == rows(client, request.at(first=2, count=2))


def test_gives_features_and_attributes(graph: Graph) -> None:
    assert graph.x is not None
    client = graph.client()
    with client.stream(Request((5, 5), 100)) as stream:
        for batch in stream:
            assert batch.schema == client.schema(Request((5, 5), 100))
            data = collate_to_pyg(batch)
            at = data.n_id.numpy()
            assert (data.x.numpy() == graph.x[at]).all()
            for name, values in graph.attrs.items():
                got = data[name].numpy()
                assert (got.dtype, got.shape[1:]) == (values.dtype, values.shape[1:])
                assert (got == values[at]).all()


def test_leaves_out_what_is_not_wanted(graph: Graph) -> None:
    names = graph.client().schema(Request((5,), edge_ids=False, features=False, node_attrs=("y",))).names
    assert not {"e_id", "x", "pos"} & set(names)
    assert "y" in names


def test_a_mask_has_node_ids_as_input_id(graph: Graph) -> None:
    mask = np.zeros(graph.nodes, bool)
    mask[[4, 11, 590]] = True
    for row in rows(graph.client(), Request((2,), 2, seeds.from_user(mask, graph.nodes))):
        assert row["input_id"] == row["n_id"][: row["batch_size"]]


def test_other_features(graph: Graph, tmp_path: Path) -> None:
    x = np.arange(graph.nodes * 3, dtype=np.float64).reshape(-1, 3)
    np.save(tmp_path / "other.npy", x)
    client = graph.client(features_path=tmp_path / "other.npy")
    with client.stream(Request((2,), 600)) as stream:
        data = collate_to_pyg(next(stream))
    assert data.x.dtype == torch.float64
    assert (data.x.numpy() == x[data.n_id.numpy()]).all()


def test_other_features_that_are_bfloat16(small: Graph, tmp_path: Path) -> None:
    x = torch.randn(small.nodes, 3).bfloat16()
    path = tmp_path / "bits.npy"
    np.save(path, x.view(torch.int16).numpy())
    clients = {dtype: small.client(features_path=path, features_dtype=dtype) for dtype in (None, "bf16")}
    assert len({client.info()["pid"] for client in clients.values()}) == 2
    for dtype, want in {None: x.view(torch.int16), "bf16": x}.items():
        with clients[dtype].stream(Request((2,), 50)) as stream:
            data = collate_to_pyg(next(stream))
        assert data.x.dtype == want.dtype
        assert torch.equal(data.x, want[data.n_id])


@pytest.mark.parametrize(("path", "dtype"), [("x.npy", "float16"), (None, "bf16")])
def test_refuses_a_dtype_of_features(small: Graph, path: str | None, dtype: str) -> None:
    with pytest.raises(ValueError, match="features_dtype"):
        small.client(features_path=path, features_dtype=dtype)


def test_a_long_list_is_sent_once(graph: Graph) -> None:
    client = graph.client()
    before = client.stats()["server"]["uploads"]
    nodes = seeds.from_ids(np.random.default_rng(0).integers(0, graph.nodes, 10**6))
    for _ in range(2):
        assert client.num_batches(Request((1,), 1000, nodes)) == 1000
        assert len(rows(graph.client(), Request((1,), 1000, nodes, count=2))) == 2
    assert client.stats()["server"]["uploads"] == before + 1


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        (Request((-2,)), ValueError, "-2"),
        (Request((1,), 0), ValueError, "batch"),
        (Request((1,), node_attrs=("zz",)), ValueError, "zz"),
        (Request((1,), seeds=seeds.from_ids(np.array([600]))), IndexError, "600"),
        (Request((1,), seeds=seeds.from_ids(np.array([-1]))), IndexError, "-1"),
        (Request((1,), fingerprint="0" * 32), GraphMismatchError, "fingerprint.*0{32}"),
        (Request((1,), content_id="0" * 32), GraphMismatchError, "content_id.*0{32}.*files beside the graph"),
        (Request((1,), generator="pcg/1"), ValueError, "generator.*pcg/1.*philox4x32-10/1"),
    ],
)
def test_refuses(graph: Graph, request_: Request, error: type[Exception], words: str) -> None:
    client = graph.client()
    with pytest.raises(error, match=words) as e:
        rows(client, request_)
    assert "gRPC" not in str(e.value)
    assert "Detail" not in str(e.value)
    assert rows(client, Request((1,), 300))  # the next is served


# ── engines ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def engine_of(graph: Graph) -> psutil.Process:
    pid = engine.endpoint(engine.spec(graph.path)).pid()
    assert pid is not None
    return psutil.Process(pid)


@pytest.fixture
def small(tmp_path: Path) -> Graph:
    """A graph, and so an engine, of the test's own: a ring."""
    n = 50
    return build(tmp_path, np.arange(n), (np.arange(n) + 1) % n, n)


def test_processes_share_one_engine(small: Graph, run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AETHERGRAPH_IDLE_TIMEOUT", "60s")
    code = "from aethergraph import client, engine; print(client.Client(engine.spec({!r})).info()['pid'])"
    command = [sys.executable, "-c", code.format(small.path)]
    asking = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    pids = {int(p.communicate()[0]) for p in asking}
    served_by = engine_of(small)
    assert pids == {served_by.pid}
    assert len([p for p in engines(run_folder) if small.path in p.cmdline()]) == 1
    served_by.terminate()


def test_the_engine_is_nobodys_child(small: Graph) -> None:
    code = f"from aethergraph import engine; engine.ensure(engine.spec({small.path!r}))"
    subprocess.run([sys.executable, "-c", code], check=True)
    found = engine_of(small)
    assert os.getpid() not in [p.pid for p in found.parents()]
    assert os.getsid(found.pid) != os.getsid(0)


def test_an_idle_engine_ends_and_is_started_again(
    small: Graph, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AETHERGRAPH_IDLE_TIMEOUT", "300ms")
    client = small.client()
    first = client.info()["pid"]
    at = engine.endpoint(client.spec)
    deadline = time.monotonic() + 20
    while psutil.pid_exists(first) and psutil.Process(first).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not at.socket.exists()
    assert client.info()["pid"] != first


def test_a_killed_engine_is_restarted_and_the_stream_goes_on(small: Graph) -> None:
    client = small.client()
    request = Request((1,), 1, seeds.from_user(list(range(50)) * 40, 50))
    whole = rows(client, request)
    got = []
    with client.stream(request) as stream:
        for batch in stream:
            got.append(batch.to_pylist()[0])
            if len(got) in (3, 1000):
                engine_of(small).kill()
    assert got == whole


def test_a_killed_engine_is_restarted_for_a_call(small: Graph) -> None:
    client = small.client()
    info = client.info()
    engine_of(small).kill()
    again = client.info()
    assert again["pid"] != info["pid"]
    assert again["fingerprint"] == info["fingerprint"]


def test_an_engine_that_dies_again_and_again_is_an_error(
    small: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty = tmp_path / "hasty"
    hasty.write_text(
        f"#!{sys.executable}\n"
        "import socket, sys\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "s.bind(sys.argv[sys.argv.index('--listen') + 1].removeprefix('unix://'))\n"
        "s.listen()\n"
        "s.accept()[0].close()\n"
        "s.accept()[0].close()\n"
        "sys.exit('farewell')\n"
    )
    hasty.chmod(0o755)
    monkeypatch.setenv("AETHERGRAPH_COMMAND", str(hasty))
    with pytest.raises(EngineError, match=r"(?s)lost \d times in a row.*"):
        small.client().info()
    with contextlib.suppress(FileNotFoundError):
        engine.endpoint(engine.spec(small.path)).socket.unlink()


def test_a_stale_socket_is_replaced(small: Graph) -> None:
    at = engine.endpoint(engine.spec(small.path))
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as s:
        s.bind(str(at.socket))
    assert at.socket.exists()
    assert small.client().info()["nodes"] == 50


def test_a_rebuilt_graph_gets_another_engine(small: Graph, tmp_path: Path) -> None:
    client = small.client()
    info = client.info()
    build(tmp_path, [1], [0], 50)
    assert small.client().info()["fingerprint"] != info["fingerprint"]
    assert client.info()["pid"] == info["pid"]  # who holds the old one keeps it


def test_a_later_wish_for_memory_is_warned_about(small: Graph) -> None:
    first = small.client(memory=64 << 20)
    assert first.info()["budget_bytes"] == 64 << 20
    first.check_memory(first.info())
    later = small.client(memory=65 << 20)
    with pytest.warns(UserWarning, match="memory=68157440 has no effect"):
        later.check_memory(later.info())


def test_too_little_memory(small: Graph) -> None:
    with pytest.raises(MemoryError, match="budget"):
        small.client(memory=1000).info()
    assert small.client().info()


@pytest.mark.parametrize("memory", [0, -1])
def test_no_memory(small: Graph, memory: int) -> None:
    with pytest.raises(ValueError, match="memory"):
        small.client(memory=memory)


def test_features_of_another_graph(small: Graph, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    with pytest.raises(ValueError, match="3 rows, the graph has 50 nodes"):
        small.client(features_path=tmp_path / "x.npy").info()


def test_an_attribute_that_was_left_behind(graph: Graph, tmp_path: Path) -> None:
    shutil.copy(graph.path, tmp_path)
    with pytest.raises(FileNotFoundError, match="copy it along"):
        rows(Client(engine.spec(tmp_path / "graph.bin")), Request((1,)))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.bin is not there on .*aether-ooc build"):
        engine.spec(tmp_path / "nowhere.bin")


def test_a_missing_command(small: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AETHERGRAPH_COMMAND", "/nowhere/aether-ooc")
    with pytest.raises(EngineError, match="No such file"):
        small.client().info()


@pytest.mark.parametrize("at", [100, 5000, -1])
def test_a_corrupt_graph(small: Graph, at: int) -> None:
    flip(Path(small.path), at)
    with pytest.raises(CorruptGraphError, match=r"graph\.bin"):
        rows(small.client(), Request((1,), 50))


def test_damage_met_while_serving(tmp_path: Path) -> None:
    """The engine says which block, and serves what is sound."""
    rng = np.random.default_rng(0)
    wide = build(tmp_path, rng.integers(0, 1000, 50_000), rng.integers(0, 1000, 50_000), 1000)
    client = wide.client()
    info = client.info()
    flip(Path(wide.path), 4096 * 20 + 17, keep_time=True)
    with pytest.raises(CorruptGraphError, match=r"graph\.bin.*block"):
        rows(client, Request((-1,), 100))
    assert client.info()["pid"] == info["pid"]
    assert any(served(client, v) for v in range(0, 1000, 50))


def served(client: Client, v: int) -> bool:
    try:
        return bool(rows(client, Request((1,), 1, seeds.from_ids(np.array([v])))))
    except CorruptGraphError:
        return False


def flip(path: Path, at: int, *, keep_time: bool = False) -> None:
    """Changes a byte of the file in place; keep_time lets the same engine be found."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[at] ^= 0x40
    with path.open("r+b") as f:
        f.write(content)
    if keep_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_run_folder_that_others_may_enter(small: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "run"
    shared.mkdir()
    shared.chmod(0o755)
    monkeypatch.setenv("AETHERGRAPH_RUN_DIR", str(shared))
    with pytest.raises(PermissionError, match="chmod 700"):
        small.client().info()


def test_a_run_folder_is_made_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AETHERGRAPH_RUN_DIR")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert engine.run_folder() == tmp_path / "aethergraph"
    assert stat.S_IMODE(engine.run_folder().stat().st_mode) == 0o700
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nowhere")
    assert engine.run_folder() == Path(f"/tmp/aethergraph-{os.geteuid()}")


def test_a_run_folder_too_deep(small: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AETHERGRAPH_RUN_DIR", str(tmp_path / ("d" * 100)))
    with pytest.raises(ValueError, match="AETHERGRAPH_RUN_DIR to a shorter folder"):
        small.client().info()


# ── forks, threads and ends ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_client_survives_a_fork(small: Graph) -> None:
    client = small.client()
    want = rows(client, Request((1,), 10))
    assert forked(lambda: rows(client, Request((1,), 10))) == want
    assert rows(client, Request((1,), 10)) == want


def test_a_fork_in_the_middle_of_a_stream_is_an_error(small: Graph) -> None:
    client = small.client()

    def in_child() -> str:
        try:
            client.info()
        except EngineError as e:
            return str(e)
        return "no error"

    with client.stream(Request((1,), 10)) as stream:
        first = next(stream)
        assert "'spawn' or 'forkserver'" in forked(in_child)
        assert [first, *stream] == list(client.stream(Request((1,), 10)))
    assert forked(in_child) == "no error"


def forked(work: Callable[[], Any], limit_s: float = 30) -> Any:
    """What work gives in a child."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    signal.alarm(int(limit_s))
    try:
        with os.fdopen(read) as answer:
            return json.load(answer)
    finally:
        signal.alarm(0)
        os.waitpid(pid, 0)


def test_a_closed_stream_frees_its_work(small: Graph) -> None:
    client = small.client()
    stream = client.stream(Request((1,), 1, seeds.from_user(list(range(50)) * 2000, 50)))
    next(stream)
    stream.close()
    stream.close()
    assert list(stream) == []
    deadline = time.monotonic() + 10
    while client.stats()["server"]["open_streams"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_pickled_client_connects_anew(small: Graph) -> None:
    import pickle

    client = small.client()
    info = client.info()
    assert pickle.loads(pickle.dumps(client)).info() == info
    location = engine.endpoint(client.spec).location
    transport = pickle.loads(pickle.dumps(FlightTransport(location)))
    assert transport.info() == info
    transport.close()


def test_five_hundred_streams_leave_no_descriptor(small: Graph) -> None:
    client = small.client()
    served_ = engine_of_client(client)
    for i in range(500):
        rows(client, Request((2, 2), 10, epoch=i))
        if i == 20:
            ours, theirs, memory = descriptors(os.getpid()), descriptors(served_.pid), served_.memory_info().rss
    assert descriptors(os.getpid()) <= ours + 2
    assert descriptors(served_.pid) <= theirs + 2
    assert served_.memory_info().rss < memory + (32 << 20)


def engine_of_client(client: Client) -> psutil.Process:
    return psutil.Process(client.info()["pid"])


def descriptors(pid: int) -> int:
    return psutil.Process(pid).num_fds()


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left(run_folder: Path) -> Iterator[None]:
    yield
    assert not wait_for_engines_to_end(run_folder)
    assert not list(run_folder.glob("*.sock"))
