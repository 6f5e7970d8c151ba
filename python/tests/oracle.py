"""What a mini-batch must be, from the raw edge list: the Python twin of internal/oracle.

It shares nothing with the engine. The generator is version 1 of internal/rng/doc.go (Philox4x32-10; Salmon et al., SC
2011), in plain ints. Lists hold (neighbour, edge id) in canonical order: by neighbour id, then by input row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

M32 = 2**32 - 1
SHUF = 0x73687566
Words = tuple[int, ...]
Lists = list[list[tuple[int, int]]]


def lo_hi(x: int) -> Words:
    return x & M32, x >> 32


def philox(c: Words, k: Words) -> Words:
    for r in range(10):
        k0, k1 = (k[0] + r * 0x9E3779B9) & M32, (k[1] + r * 0xBB67AE85) & M32
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = (b >> 32) ^ c[1] ^ k0, b & M32, (a >> 32) ^ c[3] ^ k1, a & M32
    return c


def chain(fingerprint: bytes, seed: int, c: Words) -> Words:
    a = philox(tuple(np.frombuffer(fingerprint, "<u4").tolist()), lo_hi(seed))
    b = philox(c, a[:2])
    return b[0] ^ a[2], b[1] ^ a[3]


def batch_key(fingerprint: bytes, seed: int, epoch: int, batch: int) -> Words:
    return chain(fingerprint, seed, lo_hi(epoch) + lo_hi(batch))


def stream(key: Words, hop: int, node: int, copy: int) -> Iterator[int]:
    i = 0
    while True:
        yield from philox((*lo_hi(node), hop | copy << 8, i), key)
        i += 1


def uniform(words: Iterator[int], n: int) -> int:
    bits = 32 if n <= 2**32 else 64
    while n > 1:
        m = (next(words) | (next(words) << 32 if bits == 64 else 0)) * n
        if m % 2**bits >= 2**bits % n:
            return m >> bits
    return 0


def draw(words: Iterator[int], fanout: int, degree: int, replace: bool) -> list[int]:
    if replace and fanout >= 0:
        return [uniform(words, degree) for _ in range(fanout if degree else 0)]
    if fanout < 0 or fanout >= degree:
        return list(range(degree))
    taken: set[int] = set()  # Floyd
    for j in range(degree - fanout, degree):
        t = uniform(words, j + 1)
        taken.add(j if t in taken else t)
    return sorted(taken)


def adjacency(
    src: ArrayLike,
    dst: ArrayLike,
    nodes: int,
    *,
    out: bool = False,
    undirected: bool = False,
    dedup: bool = False,
    drop_loops: bool = False,
    stored: bool = False,
) -> Lists:
    """The nodes' lists, as `aether-ooc build` with these options makes them (`stored`: edge ids are places)."""
    at, nbr = np.asarray(src if out else dst, np.int64), np.asarray(dst if out else src, np.int64)
    row = np.arange(len(at))
    loop = at == nbr
    if drop_loops:
        at, nbr, row, loop = at[~loop], nbr[~loop], row[~loop], loop[~loop]
    if undirected:
        at, nbr, row = np.r_[at, nbr[~loop]], np.r_[nbr, at[~loop]], np.r_[row, row[~loop]]
    order = np.lexsort((row, nbr, at))
    at, nbr, row = at[order], nbr[order], row[order]
    if dedup:
        first = np.r_[True, (at[1:] != at[:-1]) | (nbr[1:] != nbr[:-1])][: len(at)]
        at, nbr, row = at[first], nbr[first], row[first]
    ids = np.arange(len(at)) if stored else row
    lists: Lists = [[] for _ in range(nodes)]
    for v, u, e in zip(at.tolist(), nbr.tolist(), ids.tolist(), strict=True):
        lists[v].append((u, e))
    return lists


@dataclass
class Batch:
    """All lists of int; n_id holds node ids, row and col places in n_id, e_id edge ids; counts are per hop."""

    n_id: list[int]
    row: list[int]
    col: list[int]
    e_id: list[int]
    num_sampled_nodes: list[int]
    num_sampled_edges: list[int]


def sample(lists: Lists, key: Words, seeds: Sequence[int], fanouts: Sequence[int], replace: bool = False) -> Batch:
    b = Batch(list(seeds), [], [], [], [len(seeds)], [])
    local: dict[int, int] = {}
    times: dict[int, int] = {}
    copies = []
    for i, v in enumerate(seeds):
        local.setdefault(v, i)
        copies.append(times.get(v, 0))
        times[v] = copies[-1] + 1
    start = 0
    for hop, fanout in enumerate(fanouts):
        nodes, edges = len(b.n_id), len(b.row)
        for target in range(start, nodes):
            v = b.n_id[target]
            words = stream(key, hop, v, copies[target] if hop == 0 else 0)
            for rank in draw(words, fanout, len(lists[v]), replace):
                u, edge = lists[v][rank]
                if u not in local:
                    local[u] = len(b.n_id)
                    b.n_id.append(u)
                b.row.append(local[u])
                b.col.append(target)
                b.e_id.append(edge)
        start = nodes
        b.num_sampled_nodes.append(len(b.n_id) - nodes)
        b.num_sampled_edges.append(len(b.row) - edges)
    return b


def shuffled(fingerprint: bytes, seed: int, epoch: int, n: int, i: int) -> int:
    """The input position of the item at position i of a shuffled epoch of n."""
    key = chain(fingerprint, seed, (*lo_hi(epoch), SHUF, M32))
    half = max(1, ((n - 1).bit_length() + 1) // 2)
    mask = 2**half - 1
    while True:
        left, right = i >> half, i & mask
        for r in range(6):
            left, right = right, (left ^ philox((*lo_hi(right), r, SHUF), key)[0]) & mask
        i = left << half | right
        if i < n:
            return i


def batches(
    fingerprint: bytes,
    n: int,
    batch_size: int,
    *,
    shuffle: bool = False,
    drop_last: bool = False,
    rank: int = 0,
    world_size: int = 1,
    uneven: str = "wrap",
    seed: int = 0,
    epoch: int = 0,
) -> list[tuple[int, list[int]]]:
    """The rank's batches of an epoch over n input positions: (global batch number, positions)."""
    total = n // batch_size if drop_last else -(-n // batch_size)
    turns = total // world_size if uneven == "drop" else -(-total // world_size)
    numbers = [rank + turn * world_size for turn in range(turns)]
    if uneven == "ragged":
        numbers = [b for b in numbers if b < total]
    result = []
    for b in (number % total for number in numbers):
        at = range(b * batch_size, min(n, (b + 1) * batch_size))
        result.append((b, [shuffled(fingerprint, seed, epoch, n, i) if shuffle else i for i in at]))
    return result
