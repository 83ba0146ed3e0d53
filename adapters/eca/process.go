package eca

import (
	"context"
	"time"
)

// lookEvery is the interval of the checks for the client's process.
const lookEvery = 3 * time.Second

// watchProcess ends the connection when the client's process has ended. A process that is missing
// from the beginning means nothing: clients in a sandbox see other process ids than we do. The
// end of the input counts in any case.
func (s *Server) watchProcess(ctx context.Context, id *int64) {
	if id == nil || *id <= 1 || int64(int32(*id)) != *id {
		return
	}
	pid := int(*id)
	if !s.opts.Alive(pid) {
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
