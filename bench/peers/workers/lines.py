"""What every worker prints: JSON lines that the driver reads.

The first line is ``{"ready_seconds": s}``, the time to load everything; then a line for each batch,
``{"batch": number, "items": edges or rows, "end_seconds": s}``, where time began with the first batch. A worker that is
killed has still said how far it came.
"""

import json
import time
from collections.abc import Callable, Iterable
from typing import Any


def say(**line: Any) -> None:
    """Prints one line, at once."""
    print(json.dumps(line), flush=True)


def run(load: Callable[[], Iterable[int]], limit_s: float) -> None:
    """Loads, then makes batches until there is none left or `limit_s` has passed.

    What `load` returns makes a batch for each step and gives its number of items.
    """
    begun = time.monotonic()
    batches = load()
    say(ready_seconds=time.monotonic() - begun)
    start = time.monotonic()
    for number, items in enumerate(batches):
        end = time.monotonic() - start
        say(batch=number, items=items, end_seconds=end)
        if end > limit_s:
            return
