"""Counts the skipped tests of the JUnit reports in a folder and fails on one that should have run.

A test that cannot run on a machine must say why with a message that starts with one of EXCUSES. Under CI (environment CI=true) that is
all that is allowed; elsewhere the others are listed, not refused.
"""

import os
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

EXCUSES = (
    # These hold for one of the three builds only; the plain one runs them.
    "under the race detector the arena lies on the heap",
    "assertions allocate",
    "minutes under the race detector",
    # The folder for temporary files may lie on a tmpfs.
    "a tmpfs is nothing but page cache",
)


def skipped(path: Path) -> list[tuple[str, str]]:
    """The (test, reason) pairs of one report."""
    found = []
    for case in ET.parse(path).getroot().iter("testcase"):
        skip = case.find("skipped")
        if skip is not None:
            reason = (skip.get("message") or "") + (skip.text or "")
            found.append((f"{case.get('classname')}.{case.get('name')}", " ".join(reason.split())))
    return found


def main() -> int:
    """Prints the skips of all reports; 1 when CI should have run one of them."""
    bad = 0
    total = 0
    reports = sorted(Path(sys.argv[1]).glob("*.xml"))
    for path in reports:
        for test, reason in skipped(path):
            total += 1
            excused = any(excuse in reason for excuse in EXCUSES)
            bad += not excused
            print(f"skipped{'' if excused else ' WITHOUT EXCUSE'}: {test}: {reason}")
    print(f"{total} skipped in {len(reports)} reports, {bad} of them without an excuse")
    return 1 if (bad or not reports) and os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    sys.exit(main())
