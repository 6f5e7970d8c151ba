"""What a process has to know of its place among others: which share of the batches it takes, and where files lie."""

import os
import sys
from pathlib import Path

from aethergraph.errors import GraphMismatchError
from aethergraph.request import SAME_EVERYWHERE, Request


def resolve(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """(rank, world size): as given, else Ray Train's, else torchrun's (RANK, WORLD_SIZE), else (0, 1)."""
    if rank is not None and world_size is not None:
        return rank, world_size
    return of_train_worker() or _of_torchrun() or (0, 1)


def of_train_worker() -> tuple[int, int] | None:
    """The rank and world size of a Ray Train worker; None elsewhere, without a word (also under Tune)."""
    if "ray.train" not in sys.modules:  # a worker has imported it
        return None
    import ray.train
    from ray.train.utils import _in_ray_train_worker

    if not _in_ray_train_worker():
        return None
    context = ray.train.get_context()
    return context.get_world_rank(), context.get_world_size()


def path_as_on_driver(path: str) -> str:
    """A relative path as the driver meant it.

    Ray Train moves its workers to a folder of the run, where `graph.bin` is not; but the driver's folder, or else the
    working_dir of its runtime environment, is on the module path of all workers, for Ray promises to import from it.
    """
    if os.path.isabs(path) or os.path.exists(path) or of_train_worker() is None:  # noqa: PTH110, PTH117
        return path
    candidates = (Path(folder) / path for folder in sys.path if folder)
    return next((str(found) for found in candidates if found.exists()), path)


def check_given(rank: int | None, world_size: int | None) -> None:
    """Raises ValueError when only one of the two is given."""
    if (rank is None) != (world_size is None):
        raise ValueError("rank, world_size: give both, or neither to have them found out")


def check_same_graph(graph_path: str, request: Request) -> None:
    """Raises GraphMismatchError when another worker of the process group has another graph at the path.

    The first to come leaves what its graph is in the group's store; nobody waits for anybody.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
        return
    store = distributed.distributed_c10d._get_default_store()
    for name, what in SAME_EVERYWHERE.items():
        mine = getattr(request, name)
        first = store.compare_set(f"aethergraph/{name}/{graph_path}", "", mine).decode()
        if first != mine:
            raise GraphMismatchError(
                f"{graph_path} on rank {request.rank} has {name} {mine}, on another rank {first} ({what}): "
                "copy the same graph, with the files beside it, to every machine, and install the same release there"
            )


def _of_torchrun() -> tuple[int, int] | None:
    rank, world_size = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if rank is None or world_size is None:
        return None
    return int(rank), int(world_size)
