"""Mini-batches for Ray Data and Ray Train.

create_sampling_dataset ─► SamplingDataset          (dataset.py)   a ray.data.Dataset: one row is one mini-batch
│ over
AetherGraphDatasource    (datasource.py) what to sample; whose turn; which epoch
│
┌───────────────┴──────────────────┐
elsewhere: Ray's read tasks          in a Ray Train worker, and in shards: (iterators.py)
→ object store → iterator            straight from the engine
"""

from aethergraph.collate import collate_to_pyg
from aethergraph.ray.dataset import SamplingDataset, create_sampling_dataset
from aethergraph.ray.datasource import AetherGraphDatasource

__all__ = ["AetherGraphDatasource", "SamplingDataset", "collate_to_pyg", "create_sampling_dataset"]
