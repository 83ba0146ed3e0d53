//go:build !linux

package jsonl_test

import "errors"

// Only Linux lets a process limit the size of its files without privileges and
// go on.
var errFull = errors.ErrUnsupported

func lessRoom() error { return errors.ErrUnsupported }
func moreRoom() error { return errors.ErrUnsupported }
