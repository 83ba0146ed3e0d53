// Package stack gives goroutines the stack that they will need at once.
//
// # Why
//
// A goroutine's stack grows by being copied to one of twice the size, and to copy it the runtime
// looks up all of its frames in the program's tables. A goroutine that lives for one request and
// goes deep is copied three times, from deeper and deeper: for those of a small turn that was a
// twelfth of its processor time. Where it has few frames it is copied once, for little.
//
// Grow a stack to what it grows to anyway, and no further: each size below was observed.
package stack

// Grow8 gives the calling goroutine a stack of at least 8 KiB.
func Grow8() { frame5(false) }

// Grow16 gives the calling goroutine a stack of at least 16 KiB.
func Grow16() { frame10(false) }

// The functions below have frames of so many KiB: the room that a function could need is looked for
// before its first statement.

//go:noinline
func frame5(use bool) (sum byte) {
	if use {
		var room [5 << 10]byte
		sum = fill(room[:])
	}
	return sum
}

//go:noinline
func frame10(use bool) (sum byte) {
	if use {
		var room [10 << 10]byte
		sum = fill(room[:])
	}
	return sum
}

// fill uses the room, so that the compiler keeps it.
func fill(room []byte) (sum byte) {
	for i := range room {
		room[i] = sum
		sum += room[len(room)-1-i]
	}
	return sum
}
