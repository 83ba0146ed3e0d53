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
	bodyTime   = time.Minute      // and its body
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
		s.Close() //nolint:errcheck // this cuts off what is still open
	}
	wg.Wait()
	return err
}

// timed gives a client a time to take each thing that is written.
type timed struct {
	http.ResponseWriter
	control *http.ResponseController
}

func newTimed(w http.ResponseWriter) *timed {
	return &timed{ResponseWriter: w, control: http.NewResponseController(w)}
}

// Write implements io.Writer.
func (t *timed) Write(b []byte) (int, error) {
	// A writer that has no deadlines has its own way to end.
	_ = t.control.SetWriteDeadline(time.Now().Add(writeTime))
	return t.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (t *timed) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// body gives a client a time to send its request. When all of it is there the deadline
// goes: the connection is read on, to see when the client leaves.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	begun   bool
}

// Read implements io.Reader. Of a body that is too large its error names the limit.
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
