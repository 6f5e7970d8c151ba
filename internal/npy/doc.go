// Package npy reads and writes the header of NumPy's .npy files, the format in
// which users hand us edges, features, labels and lists of nodes.
//
//	0          6        8            10 (or 12)                    DataOff
//	┌──────────┬────────┬────────────┬─────────────────────────────┬──────────
//	│ \x93NUMPY│ major, │ length of  │ {'descr': '<f4',            │ the values,
//	│          │ minor  │ the text   │  'fortran_order': False,    │ no padding,
//	│          │        │ 2 B in 1.0 │  'shape': (3, 4), }  … \n   │ no checksum
//	│          │        │ else 4 B   │ a Python dict, space-padded │
//	└──────────┴────────┴────────────┴─────────────────────────────┴──────────
//
// Versions 1.0, 2.0 and 3.0 are read, 1.0 is written. A Header is a plain
// value: nothing here holds files or memory.
//
// Two rules that callers rely on:
//
//  1. A Header that ParseHeader returned describes an array whose values and
//     bytes can be counted in an int64 (Values, Bytes never overflow).
//  2. Integers never pass through floats: DecodeIDs takes every id below 2^63
//     exactly and refuses all others.
//
// Arrays of Python objects are refused because reading them would run a
// program (pickle); structured, text, complex and time arrays because nothing
// of ours has a use for them.
package npy
