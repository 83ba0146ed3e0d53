package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapFloor is the size that the heap may have before it is collected. Go's is 4 MiB, which a few small turns
// fill: half of the collections are saved by 4 MiB more, and another quarter would cost 8 MiB more. A heap
// that has more than half of it in use is collected as ever, so many sessions take no more memory. A ballast
// would be simpler, and would make every heap larger by its size and more.
const heapFloor = 8 << 20

// raiseHeapFloor has collections respect heapFloor from the first one on; until then it costs nothing.
// A GOGC in the environment is left alone.
func raiseHeapFloor() {
	if _, set := os.LookupEnv("GOGC"); !set {
		afterCollection(100)
	}
}

// afterCollection chooses the percentage by which the heap may grow, once after each collection: the
// object that it waits for is in use no longer.
func afterCollection(percent int) {
	runtime.AddCleanup(new([4]uint64), func(percent int) {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		next := growth(sample[0].Value.Uint64())
		if next != percent { // setting it stops all goroutines for a moment
			debug.SetGCPercent(next)
		}
		afterCollection(next)
	}, percent)
}

// growth returns by how many percent a heap may grow of which so many bytes are in use. It comes in steps,
// so that it seldom changes. With 200 Go's own floor is 8 MiB.
func growth(live uint64) int {
	const step, most = 50, 200
	if live >= heapFloor/2 {
		return 100
	}
	free := (heapFloor - live) * 100 / max(live, 1)
	return max(100, int(min(free, most)/step*step))
}
