package jsonl

import "dragoman/core"

const (
	// farAhead is the size of a log, in bytes, from which on reading it keeps ahead of its reader.
	farAhead = 256 << 10

	// A batch of records ends with either limit.
	batchRecords = 128
	batchBytes   = 64 << 10
)

// readAhead yields what read yields, which it runs in a goroutine of its own: the log is read and
// decoded while the reader works. That is at most two batches ahead, and has ended when readAhead returns.
func readAhead(
	read func(yield func(r core.Record, size int) bool) (*tail, error),
	yield func(core.Record) bool,
) (end *tail, err error) {
	batches, stop := make(chan []core.Record), make(chan struct{})
	go func() {
		defer close(batches)
		var filled, other []core.Record // other is with the reader, who is done with it when filled is taken
		bytes := 0
		send := func() bool {
			select {
			case batches <- filled:
				filled, other, bytes = other[:0], filled, 0
				return true
			case <-stop:
				return false
			}
		}
		end, err = read(func(r core.Record, size int) bool {
			filled = append(filled, r)
			bytes += size
			return len(filled) < batchRecords && bytes < batchBytes || send()
		})
		if len(filled) > 0 {
			send()
		}
	}()
	defer func() {
		close(stop)
		for range batches { //nolint:revive // it waits for the goroutine
		}
	}()
	for batch := range batches {
		for _, r := range batch {
			if !yield(r) {
				return nil, nil
			}
		}
	}
	return end, err
}
