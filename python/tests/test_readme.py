"""The README's Python runs as printed. Supplied: the graph (file and tensors), `model`, `MyGNN` and the imports."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from support import build

README = Path(__file__).parents[2] / "README.md"

SUPPLIED = """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch_geometric.data import Data
from torch_geometric.nn import GraphSAGE

edge_index, x, y = torch.randint(0, 2100, (2, 20_000)), torch.randn(2100, 4), torch.randint(0, 3, (2100,))
data = Data(edge_index=edge_index, x=x, y=y)

model = GraphSAGE(4, 8, num_layers=2)


class MyGNN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gnn = GraphSAGE(4, 8, num_layers=2)

    def forward(self, x, edge_index):
        return self.gnn(x, edge_index).square().mean()

"""

CHECKED = """

assert dataset.num_batches() == 3 and dataset.epoch == 1
assert out.shape == (data.num_nodes, 8)
assert ds.count() == 3
"""


def blocks() -> list[str]:
    """The README's blocks of Python, in order."""
    return re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def test_the_examples_run_as_printed(cluster: str, tmp_path: Path) -> None:
    assert len(blocks()) >= 3
    rng = np.random.default_rng(0)
    n = 2100
    x = rng.standard_normal((n, 4)).astype(np.float32)
    build(tmp_path, rng.integers(0, n, 20_000), rng.integers(0, n, 20_000), n, x, y=rng.integers(0, 3, n))
    script = tmp_path / "readme.py"
    script.write_text(SUPPLIED + "\n".join(blocks()) + CHECKED)
    environment = os.environ | {"RAY_ADDRESS": cluster}  # where the printed ray.init() goes
    ran = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=540
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
