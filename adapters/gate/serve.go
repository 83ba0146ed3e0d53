package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	headerTime = 10 * time.Second // for a request's header
	bodyTime   = time.Minute      // for a request's body
	writeTime  = time.Minute      // for a client to take written data
	idleTime   = 2 * time.Minute  // between two requests
	endTime    = 5 * time.Second  // for open requests, when we end
	maxHeader  = 64 << 10         // bytes
)

// Serve serves connections until ctx ends, whose cause it returns, or the listener
// fails. Then it calls stop, which ends the handlers' work, and waits for open
// requests for a while. It closes the listener.
func (g *Gate) Serve(ctx context.Context, l net.Listener, stop func()) error {
	s := &http.Server{
		Handler: g, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: zap.NewStdLog(g.log),
	}
	var wg sync.WaitGroup
	served := make(chan error, 1)
	wg.Go(func() { served <- s.Serve(l) })
	checking, enough := context.WithCancel(context.WithoutCancel(ctx))
	if g.opts.Admit != nil {
		wg.Go(func() { g.dismiss(checking) })
	}
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	stop()
	last, done := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer done()
	if s.Shutdown(last) != nil {
		s.Close() //nolint:errcheck // this closes connections that are still open
	}
	enough()
	wg.Wait()
	return err
}

// timedWriter limits the time that a client takes for each part of a response.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func newTimed(w http.ResponseWriter) *timedWriter {
	return &timedWriter{ResponseWriter: w, control: http.NewResponseController(w)}
}

// Write implements io.Writer.
func (t *timedWriter) Write(b []byte) (int, error) {
	// A writer without deadlines ends in its own way.
	_ = t.control.SetWriteDeadline(time.Now().Add(writeTime))
	return t.ResponseWriter.Write(b)
}

// Unwrap is called by http.ResponseController.
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// body limits the time that a client takes to send its request. At its end the deadline is
// removed: the connection is read further, to notice when the client leaves.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	begun   bool
}

// Read implements io.Reader. For a body that is too large, its error names the limit.
func (b *body) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		_ = b.control.SetReadDeadline(time.Now().Add(bodyTime)) // as in Write
	}
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = fmt.Errorf("%w: a request may have at most %d bytes", err, large.Limit)
	}
	return n, err
}
