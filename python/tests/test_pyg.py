"""Agreement with PyTorch Geometric."""

import numpy as np
import pytest
import torch
from support import Graph
from torch_geometric.utils import k_hop_subgraph

from aethergraph import seeds
from aethergraph.collate import collate_to_pyg
from aethergraph.request import Request


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("nodes", [[5], [0, 40, 311, 599], [11, 599, 598]])
def test_all_neighbours_are_the_k_hop_subgraph(graph: Graph, hops: int, nodes: list[int]) -> None:
    with graph.client().stream(Request((-1,) * hops, 8, seeds.from_user(nodes, graph.nodes))) as stream:
        data = collate_to_pyg(next(stream))
    edge_index = torch.from_numpy(np.stack([graph.src, graph.dst]))
    subset, _, _, mask = k_hop_subgraph(nodes, hops, edge_index, num_nodes=graph.nodes, directed=True)
    assert data.n_id[: data.batch_size].tolist() == nodes
    assert data.n_id.sort().values.tolist() == subset.tolist()
    assert data.e_id.sort().values.tolist() == mask.nonzero().flatten().tolist()
    assert torch.equal(data.n_id[data.edge_index], edge_index[:, data.e_id])
    assert sum(data.num_sampled_nodes) == data.num_nodes
    assert sum(data.num_sampled_edges) == data.num_edges
