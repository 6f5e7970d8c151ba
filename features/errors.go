package features

import "errors"

// The kinds of refusal. Errors that wrap them name the file, what is wrong with
// it and what to do. What is no readable .npy at all wraps npy.ErrFormat.
var (
	// ErrRows: the array has another number of rows than the graph has nodes.
	ErrRows = errors.New("rows do not match nodes")
	// ErrShape: a scalar, or features of more than two dimensions.
	ErrShape = errors.New("wrong shape")
	// ErrOrder: the array lies in Fortran order.
	ErrOrder = errors.New("wrong memory order")
	// ErrEndian: the values are big-endian.
	ErrEndian = errors.New("wrong byte order")
	// ErrDType: the values are not of the type that they are said to be.
	ErrDType = errors.New("wrong dtype")
	// ErrForeign: the file was made for another graph, or changed since.
	ErrForeign = errors.New("not this graph's file")
	// ErrRange: a row was asked for that is not there.
	ErrRange = errors.New("no such row")
)
