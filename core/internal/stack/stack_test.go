package stack

import (
	"testing"
	"unsafe"
)

// After a stack has grown, calls of nearly that depth do not move it.
func TestGrow(t *testing.T) {
	for _, tt := range []struct {
		name string
		grow func()
		kib  int
	}{{"8", Grow8, 4}, {"16", Grow16, 9}} {
		moved := make(chan bool)
		go func() { moved <- moves(tt.grow, tt.kib) }()
		if <-moved {
			t.Errorf("a stack grown to %s KiB moved within %d", tt.name, tt.kib)
		}
	}
}

// moves grows the stack, and reports whether calls with frames of so many KiB move it then.
func moves(grow func(), kib int) bool {
	var mark byte
	grow()
	before := uintptr(unsafe.Pointer(&mark))
	deep(kib)
	return uintptr(unsafe.Pointer(&mark)) != before
}

// deep calls itself with frames of a KiB.
//
//go:noinline
func deep(kib int) byte {
	var room [900]byte
	if kib > 0 {
		room[kib] = deep(kib - 1)
	}
	return fill(room[:])
}
