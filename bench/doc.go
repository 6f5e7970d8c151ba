// Package bench measures: what the device can do, what sampling makes of it, and
// what lies between. It is Config → Run → Result; the command line only binds
// flags and prints.
//
//	table of options ─┬─ flags ────────┐
//	                  └─ job file's ───┴─► Settings ─► workload's Config ─► run ─► Result ─┐ × repeat,
//	                     sections                                                          │ taking turns
//	      text ◄─┬─────────────────────────────────────────────────────── Document ◄───────┘
//	      JSON ◄─┤                                                      host, sections,
//	      HTML ◄─┘     compare ◄─ two JSON files                        runs, medians
//
// There is one way in: sections, each of a workload with its settings, go to Run,
// and a Document comes back.
//
// Every option is one row of table (table.go): parser, --help, --cmdhelp, shell
// completion and docs/CLI.md come from it. A workload is a file that has a
// Workload, a Config, and a Result; nothing else knows it.
//
// # One run
//
//	ramp (not measured) ─► snapshot of counters ─► measured part ─► snapshot
//
// All counts of a Result are differences of the two snapshots; the process's
// peak memory is counted anew for each run.
//
// A figure without its circumstances is worth nothing, so a Result says in what
// state the cache was when the clock started, which backend read and whether past
// the page cache, what depth was really reached, what it took of the machine, and
// in one line what it was waiting for. Seeds are fixed unless they are given. A
// run that is interrupted reports what it has measured and is marked as cut short.
package bench
