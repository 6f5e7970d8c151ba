"""What tests share: one folder for engines, one Ray, one graph; and the check that nothing of it is left."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support import Graph, make_graph

IDLE_S = 4


@pytest.fixture(scope="session", autouse=True)
def run_folder() -> Iterator[Path]:
    """A run folder of the tests' own, whose engines have all ended in the end. Ray's workers inherit it."""
    folder = Path(tempfile.mkdtemp(prefix="ag-"))
    os.environ["AETHERGRAPH_RUN_DIR"] = str(folder)
    os.environ["AETHERGRAPH_IDLE_TIMEOUT"] = f"{IDLE_S}s"
    yield folder
    left = wait_for_engines_to_end(folder)
    shutil.rmtree(folder)
    assert not left, f"engines left: {left}"


def wait_for_engines_to_end(folder: Path, limit_s: float = IDLE_S + 20) -> list[psutil.Process]:
    deadline = time.monotonic() + limit_s
    while engines(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    return engines(folder)


def engines(folder: Path) -> list[psutil.Process]:
    """The engines whose socket lies, or lay, in the folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        arguments = process.info["cmdline"] or []
        if (
            "serve" in arguments
            and any(str(folder) in a for a in arguments)
            and process.status() != psutil.STATUS_ZOMBIE
        ):
            found.append(process)
    return found


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Loops, parallel edges, isolated nodes, a hub over several blocks; features and attributes."""
    return make_graph(tmp_path_factory.mktemp("graph"))


@pytest.fixture(scope="session")
def cluster(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A local Ray of two CPUs, as small as it gets; its address."""
    os.environ["RAY_TRAIN_ENABLE_PRINT_PATCH"] = "0"
    import ray

    before = set(psutil.Process().children(recursive=True))
    folder = tempfile.mkdtemp(prefix="agray-")
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=256 << 20,
        log_to_driver=False,
        logging_level="WARNING",
        _temp_dir=folder,
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()
    left = psutil.wait_procs(set(psutil.Process().children(recursive=True)) - before, timeout=20)[1]
    shutil.rmtree(folder, ignore_errors=True)
    assert not left, f"processes of Ray left: {left}"
