"""The training example: as good as full-batch training, and it says what the engine read."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "train_digits.py"


def test_sampled_training_is_as_good_as_full_batch(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE), "--dir", str(tmp_path / "digits")],
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    assert len(re.findall(r"seed \d, epoch 15: loss .*, test accuracy 0\.9", ran.stdout)) == 5
    sampled, full = (float(found) for found in re.findall(r"(?:workers|PyG) +(0\.\d+)", ran.stdout))
    assert abs(sampled - full) <= 0.01
    assert sampled > 0.95
    assert re.search(r"I/O account: .*blocks asked for.*hit ratio.*bytes read ÷ bytes used.*peak memory", ran.stdout)
