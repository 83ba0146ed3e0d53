// Package boot does what must be done before other packages are initialized. It imports only
// runtime, so it is one of the first.
//
// # Why
//
// A goroutine's stack grows by being copied, and to copy it the runtime looks up all of its frames
// in the program's tables. The main goroutine, on which packages are initialized, commands are
// found and settings are read, would grow four times, from deeper and deeper, and touch more than
// a megabyte of the tables: that is a twentieth of the time to the first answer, and of the memory
// of an idle process. Here it has few frames, and grows once.
package boot

import "runtime"

func init() {
	runtime.MemProfileRate = 0 // until --pprof asks for it; what is allocated before it is set is sampled
	deepen(false)
}

// deepen ensures that the goroutine has a stack of 32 KiB: the room that a function could need is
// looked for before its first statement.
//
//go:noinline
func deepen(use bool) (sum byte) {
	if use {
		var room [24 << 10]byte
		for i := range room {
			room[i] = sum
			sum += room[len(room)-1-i]
		}
	}
	return sum
}
