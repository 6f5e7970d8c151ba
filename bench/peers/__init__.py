"""What users would pick instead of aether-ooc, measured beside it in one run: ``make bench-peers``.

    data.py          builds one RMAT graph, and what each peer wants to read it from
    envs.py          gets the peers: a locked environment each, in a cache that later runs share
    contestants.py   who runs, and how: a command and the memory it may have
    launch.py        runs one of them in a control group of its own (cgroup.py), on its CPUs, for a limited time
    outcome.py       makes a figure of what it printed
    rounds.py        lets all run in turn, several times over
    table.py         medians, ratios within a round, and whether all did the same job; page.py draws them

workers/ run in the peers' environments and plain/ is the loop in Go that bounds them all.

Every round runs every contestant once, so that a ratio compares neighbours in time: the device and the machine drift,
the ratio does not. Before each run all files are dropped from the page cache. Memory is equal among those who are
compared: what samples out of core has a quarter of the adjacency (as plain 32-bit ids) plus a fixed allowance for its
runtime; what holds everything in RAM has enough, the same for all. A peer that can't be had, is killed or does another
job is named with the reason, never left out.
"""
