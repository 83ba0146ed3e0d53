//go:build !linux

package jsonl_test

import "errors"

// Only Linux lets a process without privileges limit the size of its files and
// continue.
var errFull = errors.ErrUnsupported

func lessRoom() error { return errors.ErrUnsupported }
func moreRoom() error { return errors.ErrUnsupported }
