"""Finds the machine's engine for a graph, or starts it.

One engine per user, machine and graph file (and feature file): who asks first starts it, all others share it. It is
nobody's child, so it outlives whoever started it (Ray kills what a worker has started), and ends itself when it has
been idle for a while.

    run folder, mode 0700: $AETHERGRAPH_RUN_DIR, else $XDG_RUNTIME_DIR/aethergraph, else /tmp/aethergraph-UID
        v1-0123456789abcdef.sock    where it listens: protocol version, hash of what the files are
        v1-0123456789abcdef.lock    held by whoever is starting it
        v1-0123456789abcdef.log     what it says

Invariants:
  1. A socket file is removed, and an engine started, only by the holder of the lock, after a connection was refused.
  2. Names hash device, inode, size and time of the files, and how they are read: a rebuilt graph gets a new engine,
     and names stay far below the 107 bytes that a socket's path may have.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import socket
import stat
import struct
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aethergraph.errors import CorruptGraphError, EngineError
from aethergraph.request import PROTOCOL_VERSION

COMMAND = "aether-ooc"
IDLE_TIMEOUT_S = 60.0
START_TIMEOUT_S = 600.0  # an index of gigabytes may have to be read first
SOCKET_PATH_MAX = 107
FEATURES_DTYPE = "bf16"  # the one that has to be said

_LOG_TAIL_BYTES = 4096


@dataclass(frozen=True)
class EngineSpec:
    """Which engine is wanted.

    Attributes:
        graph_path: the graph, absolute.
        features_path: a feature file other than the one that was built with the graph, absolute.
        features_dtype: "bf16" where the 16-bit words of that file are bfloat16, which .npy has no name for.
        memory: the budget in bytes, if this engine is the one that gets started; None leaves it to the engine, which
            takes a quarter of what the machine or control group allows.
    """

    graph_path: str
    features_path: str | None = None
    memory: int | None = None
    features_dtype: str | None = None

    def identity(self) -> str:
        """What the files are, and how they are read, 16 hex digits. Raises FileNotFoundError."""
        paths = [self.graph_path] if self.features_path is None else [self.graph_path, self.features_path]
        words = [*map(_identity, paths), *([self.features_dtype] if self.features_dtype else [])]
        return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def spec(
    graph_path: str | os.PathLike[str],
    features_path: str | os.PathLike[str] | None = None,
    memory: int | None = None,
    features_dtype: str | None = None,
) -> EngineSpec:
    """An EngineSpec from what a user gives. Raises FileNotFoundError for a file that is not there, and ValueError."""
    if memory is not None and memory <= 0:
        raise ValueError(f"memory: {memory} is no budget: give a number of bytes, such as 2 << 30, or None")
    if features_dtype not in (None, FEATURES_DTYPE):
        raise ValueError(f'features_dtype: {features_dtype!r} is not "{FEATURES_DTYPE}": .npy names every other itself')
    if features_dtype is not None and features_path is None:
        raise ValueError("features_dtype: it says how to read features_path: give that too")
    features = None if features_path is None else str(Path(features_path).absolute())
    wanted = EngineSpec(str(Path(graph_path).absolute()), features, memory, features_dtype)
    wanted.identity()
    return wanted


def _identity(path: str) -> str:
    try:
        s = Path(path).stat()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is not there on {socket.gethostname()}: build it (`{COMMAND} build`), or copy it to each machine"
        ) from None
    return f"{s.st_dev} {s.st_ino} {s.st_size} {s.st_mtime_ns}"


@dataclass(frozen=True)
class Endpoint:
    """Where an engine listens, and what belongs to it in the run folder."""

    base: Path

    @property
    def socket(self) -> Path:
        """The socket's path."""
        return self.base.with_suffix(".sock")

    @property
    def log(self) -> Path:
        """What the engine says."""
        return self.base.with_suffix(".log")

    @property
    def location(self) -> str:
        """The socket as Flight names it."""
        return f"grpc+unix://{self.socket}"

    def pid(self) -> int | None:
        """The process that listens on the socket; None when nobody does."""
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as s:
            try:
                s.connect(str(self.socket))
            except (FileNotFoundError, ConnectionRefusedError):
                return None
            peer = s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            pid, uid, _ = struct.unpack("3i", peer)
        if uid != os.geteuid():
            raise PermissionError(
                f"{self.socket} belongs to another user ({uid}): remove it, or set AETHERGRAPH_RUN_DIR"
            )
        return int(pid)


def endpoint(wanted: EngineSpec) -> Endpoint:
    """Where the engine listens, if it runs. Makes the run folder."""
    found = Endpoint(run_folder() / f"v{PROTOCOL_VERSION}-{wanted.identity()}")
    if len(os.fsencode(found.socket)) > SOCKET_PATH_MAX:
        raise ValueError(
            f"{found.socket} is longer than a socket's path may be ({SOCKET_PATH_MAX} bytes): "
            "set AETHERGRAPH_RUN_DIR to a shorter folder"
        )
    return found


def ensure(wanted: EngineSpec) -> Endpoint:
    """Returns where the engine listens, once it does; starts it if it is not there.

    Raises:
        FileNotFoundError: a file, or the command itself, is not there.
        CorruptGraphError, ValueError, MemoryError, EngineError: the engine ended at once; by its exit code and words.
    """
    found = endpoint(wanted)
    if found.pid() is None:
        with _locked(found.base.with_suffix(".lock")):
            if found.pid() is None:
                found.socket.unlink(missing_ok=True)
                _start(wanted, found)
    return found


def run_folder() -> Path:
    """The per-user folder for sockets, made with mode 0700. Raises PermissionError where another could write to it."""
    folder = _run_folder_name()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    s = folder.lstat()
    if not stat.S_ISDIR(s.st_mode) or s.st_uid != os.geteuid() or s.st_mode & 0o077:
        raise PermissionError(
            f"{folder} must be a folder of user {os.geteuid()} that nobody else may enter (chmod 700): "
            "make it so, or set AETHERGRAPH_RUN_DIR to another"
        )
    return folder


def _run_folder_name() -> Path:
    if told := os.environ.get("AETHERGRAPH_RUN_DIR"):
        return Path(told)
    session = os.environ.get("XDG_RUNTIME_DIR")
    if session and os.access(session, os.W_OK):  # sudo and containers leave names of folders that are not there
        return Path(session) / "aethergraph"
    return Path(f"/tmp/aethergraph-{os.geteuid()}")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def command() -> str:
    """The engine's binary: $AETHERGRAPH_COMMAND, else beside this Python, else on the PATH."""
    if told := os.environ.get("AETHERGRAPH_COMMAND"):
        return told
    beside = Path(sysconfig.get_path("scripts")) / COMMAND
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(COMMAND)
    if found is None:
        raise FileNotFoundError(
            f"the command {COMMAND} is neither beside {sys.executable} nor on the PATH: "
            "reinstall aethergraph, or set AETHERGRAPH_COMMAND"
        )
    return found


def _arguments(wanted: EngineSpec, at: Endpoint) -> list[str]:
    idle = os.environ.get("AETHERGRAPH_IDLE_TIMEOUT", f"{IDLE_TIMEOUT_S:g}s")
    arguments = [command(), "serve", wanted.graph_path, "--listen", f"unix://{at.socket}", "--idle-timeout", idle]
    if wanted.memory is not None:
        arguments += ["--memory", str(wanted.memory)]
    if wanted.features_path is not None:
        arguments += ["--features", wanted.features_path]
    if wanted.features_dtype is not None:
        arguments += ["--dtype", wanted.features_dtype]
    return arguments


# The process between us and the engine. It starts the engine in a session of its own, stays while the engine starts
# so that its exit code is known, and goes when told (or when we die): the engine is then nobody's child. Forking here
# and not in the caller spares the caller's threads a fork.
_MIDWIFE = """
import os, select, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
os.setsid()
pid = os.fork()
if pid == 0:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir("/")
    try:
        os.execv(sys.argv[2], sys.argv[2:])
    except OSError as e:
        print(f"{sys.argv[2]}: {e.strerror}", file=sys.stderr, flush=True)
    os._exit(127)
while not select.select([0], [], [], 0.01)[0]:
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        os._exit(os.waitstatus_to_exitcode(status) & 255)
"""


def _start(wanted: EngineSpec, at: Endpoint) -> None:
    midwife = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _MIDWIFE, str(at.log), *_arguments(wanted, at)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert midwife.stdin is not None
    try:
        _wait_until_it_listens(midwife, at)
    finally:
        midwife.stdin.close()
        midwife.wait()


def _wait_until_it_listens(midwife: "subprocess.Popen[bytes]", at: Endpoint) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    pause = 0.005
    while at.pid() is None:
        code = midwife.poll()
        if code is not None:
            raise _start_error(code, at)
        if time.monotonic() > deadline:
            raise EngineError(f"the engine does not listen on {at.socket} after {START_TIMEOUT_S:g} s; see {at.log}")
        time.sleep(pause)
        pause = min(2 * pause, 0.1)


_START_ERRORS: dict[int, type[Exception]] = {2: ValueError, 3: CorruptGraphError}
_START_WORDS: dict[str, type[Exception]] = {  # of failures, which all have exit code 1
    "memory budget": MemoryError,
    "no such file": FileNotFoundError,
    "opening the features": ValueError,
}


def _start_error(code: int, at: Endpoint) -> Exception:
    """What an engine's end at its start means, by the exit codes of docs/CLI.md and its last words."""
    words = log_tail(at)
    said = re.findall(rf"^{COMMAND}: (.*)", words, re.MULTILINE)
    message = said[-1] if said else words or f"the engine ended with exit code {code} and said nothing; see {at.log}"
    if code in _START_ERRORS:
        return _START_ERRORS[code](message)
    kinds = (kind for words, kind in _START_WORDS.items() if code == 1 and words in message)
    return next(kinds, EngineError)(message)


def log_tail(at: Endpoint) -> str:
    """The end of what the engine said."""
    try:
        return at.log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip()
    except FileNotFoundError:
        return ""
