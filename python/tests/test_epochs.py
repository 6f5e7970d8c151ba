import pickle
import subprocess
import sys

from aethergraph.epochs import EpochCounter


def test_counts() -> None:
    epochs = EpochCounter(3)
    assert [epochs.take(), epochs.take(), epochs.next] == [3, 4, 5]
    epochs.set(1)
    assert [epochs.take(), epochs.next] == [1, 2]


def test_a_pickled_counter_joins_the_one_that_is_here() -> None:
    epochs = EpochCounter()
    pickled = pickle.dumps(epochs)
    epochs.take()
    assert pickle.loads(pickled).take() == 1
    assert epochs.take() == 2


def test_setting_travels_with_it() -> None:
    epochs = EpochCounter()
    code = (
        "import pickle, sys; e = pickle.loads(bytes.fromhex(sys.argv[1])); e.take(); "
        "f = pickle.loads(bytes.fromhex(sys.argv[2])); print(e.take())"
    )

    def elsewhere(first: bytes, then: bytes) -> int:
        ran = subprocess.run([sys.executable, "-c", code, first.hex(), then.hex()], check=True, capture_output=True)
        return int(ran.stdout)

    first = pickle.dumps(epochs)
    epochs.take()
    assert elsewhere(first, pickle.dumps(epochs)) == 1  # there the counter has gone on by itself
    epochs.set(7)
    assert elsewhere(first, pickle.dumps(epochs)) == 7


def test_shards_count_apart() -> None:
    epochs = EpochCounter(5)
    one, other = epochs.shard(0), epochs.shard(1)
    assert [one.take(), one.take(), other.take(), epochs.next] == [5, 6, 5, 5]
