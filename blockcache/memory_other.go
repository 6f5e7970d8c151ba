//go:build !linux && !race

package blockcache

import "errors"

func reserve(int64) (*memory, error) {
	return nil, errors.New("blockcache: only Linux is supported; run it there")
}
