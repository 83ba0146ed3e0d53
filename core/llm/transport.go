package llm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	dialTimeout   = 10 * time.Second
	headerTimeout = 120 * time.Second // a model may think for a long time before its first byte
	idleTimeout   = 90 * time.Second  // between two reads; comments count
	// afterFinish limits the wait for the usage and the end of the stream after the model
	// has finished; they may never come.
	afterFinish = 10 * time.Second
	// drainTimeout limits the wait for the end of a stream after its [DONE], which allows
	// the connection to be reused.
	drainTimeout = 50 * time.Millisecond
)

var errIdle = errors.New("the service has sent nothing for a while")

// newTransport makes the transport for all requests of a process. It does not limit
// the time of an answer as a whole: the context does.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		DialContext:       dialer.DialContext,
		ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 30 * time.Second,
			PingTimeout:     15 * time.Second,
		},
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: headerTimeout,
		IdleConnTimeout:       idleTimeout,
		MaxIdleConnsPerHost:   32,
		DisableCompression:    true, // a compressed stream arrives in lumps
	}
}

// newClient returns a client that follows no redirects: they would carry the prompt and
// the configured headers to an address that the user did not choose.
func newClient(rt http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     rt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// idleReader is a body whose reads fail with errIdle when nothing has arrived for the
// duration idle. The clock runs only during reads.
type idleReader struct {
	src   io.Reader
	idle  time.Duration
	timer *time.Timer
	fired atomic.Bool
}

// guard returns an idleReader. cancel must end src's reads.
func guard(src io.Reader, idle time.Duration, cancel context.CancelFunc) *idleReader {
	g := &idleReader{src: src, idle: idle}
	g.timer = time.AfterFunc(idle, func() {
		g.fired.Store(true)
		cancel()
	})
	g.timer.Stop()
	return g
}

func (g *idleReader) Read(p []byte) (int, error) {
	g.timer.Reset(g.idle)
	n, err := g.src.Read(p)
	g.timer.Stop()
	if err != nil && g.fired.Load() {
		err = errIdle
	}
	return n, err
}

// drain waits a moment for the end of the stream, which may be near.
func (g *idleReader) drain() {
	g.idle = drainTimeout
	_, _ = io.CopyN(io.Discard, g, 4<<10)
}
