"""Gets the peers: each in an environment of its own, keyed by its lock file, in a cache that all checkouts share."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

LOCKS = Path(__file__).parent / "locks"
SOURCE = "torch-sparse==0.6.18"
BUILD_TOOLS = ("setuptools<82", "wheel")  # for its setup.py to say what it is called
LEAST_NICE = 19

Progress = Callable[[str], None]


class MissingError(Exception):
    """A peer can't be had; the message says why."""


def locked(name: str, cache: Path, say: Progress) -> Path:
    """The Python of an environment with exactly what locks/NAME.txt says."""
    lock = LOCKS / f"{name}.txt"
    folder = cache / f"{name}-{key(lock.read_text())}"
    with _only_one(folder):
        if not (folder / ".complete").exists():
            say(f"installing {name} into {folder}")
            shutil.rmtree(folder, ignore_errors=True)
            _run([sys.executable, "-m", "venv", "--without-pip", folder])
            _pip(["--python", folder / "bin" / "python", "install", "--no-compile", "--no-deps", "-r", lock])
            (folder / ".complete").touch()
    return folder / "bin" / "python"


def pyg_sampler(cache: Path, say: Progress) -> Path:
    """A library with the operators of torch-sparse that PyG samples with, for the torch that runs this driver.

    All of torch-sparse takes some 20 minutes to compile, and wants torch-scatter compiled, too. Its sampler is two of
    its files, which is what is built here, once, in about a minute, as its setup.py would; so the code that runs is
    the same.
    """
    folder = cache / f"torch-sparse-{key(SOURCE, metadata.version('torch'))}"
    library = folder / "neighbor_sample.so"
    with _only_one(folder):
        if not library.exists():
            if shutil.which("c++") is None:
                raise MissingError("needs the sampler of torch-sparse compiled, and there is no c++: install g++")
            shutil.rmtree(folder, ignore_errors=True)
            with tempfile.TemporaryDirectory() as scratch:
                _compile_sampler(Path(scratch), library, say)
    return library


def _compile_sampler(scratch: Path, library: Path, say: Progress) -> None:
    """Fetches the source distribution, and compiles at low priority."""
    say(f"compiling the sampler of {SOURCE}, at low priority")
    tools = scratch / "tools"
    _pip(["install", "--target", tools, *BUILD_TOOLS])
    fetch = ["download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", scratch, SOURCE]
    _pip(fetch, {"PYTHONPATH": str(tools)})
    with tarfile.open(next(scratch.glob("*.tar.gz"))) as archive:
        archive.extractall(scratch, filter="data")
    source = next(scratch.glob("torch_sparse-*/"))
    torch = Path(str(metadata.distribution("torch").locate_file("torch")))
    unit = scratch / "sampler.cpp"
    unit.write_text('#include "csrc/neighbor_sample.cpp"\n#include "csrc/cpu/neighbor_sample_cpu.cpp"\n')
    folders = (source, source / "csrc", source / "third_party/parallel-hashmap")
    includes = [f"-I{folder}" for folder in (*folders, torch / "include", torch / "include/torch/csrc/api/include")]
    libraries = [f"-L{torch / 'lib'}", f"-Wl,-rpath,{torch / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10"]
    built = scratch / library.name
    _run(
        ["c++", "-std=c++20", "-O3", "-w", "-fPIC", "-shared", *includes, unit, "-o", built, *libraries],
        nice=LEAST_NICE,
    )
    library.parent.mkdir()
    part = library.with_suffix(".part")
    shutil.move(built, part)
    part.rename(library)


def key(*texts: str) -> str:
    """Tells environments apart: by their lock, and by the Python they are for."""
    python = (sys.version, sysconfig.get_platform(), sys.base_prefix)
    return hashlib.sha256("\n".join((*python, *texts)).encode()).hexdigest()[:16]


def _pip(words: list[object], env: dict[str, str] | None = None, nice: int = 0) -> None:
    _run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words], env, nice)


def _run(argv: list[object], env: dict[str, str] | None = None, nice: int = 0) -> None:
    words = [str(word) for word in argv]
    try:
        ran = subprocess.run(
            words,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: os.nice(nice),
        )
    except OSError as error:
        raise MissingError(f"{words[0]}: {error.strerror}") from error
    if ran.returncode:
        raise MissingError(last_error(ran.stdout) or f"{words[0]}: exit status {ran.returncode}")


def last_error(text: str) -> str:
    """The line of pip's output that says what went wrong: the last that begins with ERROR, else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR", "error:"))]
    return (errors or lines or [""])[-1]


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Two runs do not install the same at once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(folder.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
