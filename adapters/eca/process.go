package eca

import (
	"context"
	"time"

	"dragoman/adapters/proto/eca"
)

// lookEvery is the interval of the checks for the client's process.
const lookEvery = 3 * time.Second

// firstWord is the time within which a client of an early document shows that it is there, if its
// process is missing from the beginning.
const firstWord = 10 * time.Second

// watchProcess ends the connection when the client's process has ended. A process that is missing
// from the beginning may be that of a client in a sandbox or a container, which sees other process ids
// than we do. The early documents have the server exit then, so it does unless the client says something
// after it was initialized. The end of the input counts in any case.
func (s *Server) watchProcess(ctx context.Context, id *int64) {
	if id == nil || *id <= 1 || int64(int32(*id)) != *id {
		return
	}
	pid := int(*id)
	if !s.opts.Alive(pid) {
		if s.peerNow().lacks[eca.MethodStatusChanged] {
			s.wg.Go(func() { s.awaitWord(ctx) })
		}
		return
	}
	s.wg.Go(func() {
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for {
			select {
			case <-look.C:
				if !s.opts.Alive(pid) {
					s.log.Info("the client's process has ended")
					s.end(errAlone)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
}

// awaitWord ends the connection unless the client says something in time.
func (s *Server) awaitWord(ctx context.Context) {
	late := time.NewTimer(firstWord)
	defer late.Stop()
	select {
	case <-late.C:
		if !s.spoken.Load() {
			s.log.Info("the client's process was missing from the beginning, and nothing was said")
			s.end(errAlone)
		}
	case <-ctx.Done():
	}
}
