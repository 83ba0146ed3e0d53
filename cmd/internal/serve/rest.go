package serve

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// restEvery is the time between two looks whether the process rests.
	restEvery = 5 * time.Second
	// busyBytes is allocated between two looks by a process that does not rest.
	busyBytes = 1 << 20
	// smallBytes is the heap that a process keeps, with all that is unused in it: to get memory again would make
	// its next turn slower.
	smallBytes = 12 << 20
	// spareBytes is the least unused memory that is worth a collection.
	spareBytes = 2 << 20
)

// memory is the use of Go's heap, in bytes.
type memory struct {
	allocated uint64 // since the start
	occupied  uint64 // by objects, in use or not, and by what was freed and not given back
	used      uint64 // by the objects that the last collection has left
}

// readMemory returns the use of the heap now. It stops nothing.
func readMemory() memory {
	s := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(s)
	return memory{
		allocated: s[0].Value.Uint64(),
		occupied:  s[1].Value.Uint64() + s[2].Value.Uint64(),
		used:      s[3].Value.Uint64(),
	}
}

// rests gives memory back to the system when a process with many sessions, or one that has done
// something large, has nothing to do any more: nothing else collects what it has left behind, for
// the heap does not grow. It does so once, until memory is used again. read and free stand for
// readMemory and debug.FreeOSMemory.
func rests(ctx context.Context, read func() memory, free func()) {
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	last, freed := read(), uint64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := read()
		resting := now.allocated-last.allocated < busyBytes
		if resting && now.allocated-freed >= busyBytes && now.occupied > max(smallBytes, now.used+spareBytes) {
			free()
			freed = now.allocated
		}
		last = now
	}
}

// rest is rests of this process.
func rest(ctx context.Context) { rests(ctx, readMemory, debug.FreeOSMemory) }
