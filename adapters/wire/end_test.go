package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
)

func TestEndReleasesEverybody(t *testing.T) {
	errShutdown := errors.New("shutting down")
	for _, c := range []struct {
		name  string
		end   func(p *wiretest.Peer, cancel context.CancelCauseFunc)
		serve error // what Serve returns
		cause error // of the contexts
	}{
		{"hangup", func(p *wiretest.Peer, _ context.CancelCauseFunc) { p.Hangup() }, nil, wire.ErrClosed},
		{"death", func(p *wiretest.Peer, _ context.CancelCauseFunc) { p.Close() }, nil, wire.ErrClosed},
		{"within a frame", func(p *wiretest.Peer, _ context.CancelCauseFunc) { p.Raw(`{"id":1,`); p.Close() }, nil, wire.ErrClosed},
		{"shutdown", func(_ *wiretest.Peer, cancel context.CancelCauseFunc) { cancel(errShutdown) }, errShutdown, errShutdown},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out, p := wiretest.New(wire.Newline)
				conn := wire.NewConn(in, out, wire.Options{})
				ctx, cancel := context.WithCancelCause(t.Context())
				var owner sync.WaitGroup
				var ended atomic.Int64
				served := make(chan error, 1)
				go func() {
					served <- conn.Serve(ctx, func(call *wire.Call) {
						owner.Go(func() {
							<-call.Context().Done()
							if err := context.Cause(call.Context()); !errors.Is(err, c.cause) {
								t.Errorf("a call ended by %v", err)
							}
							ended.Add(1)
							call.Reply("too late", nil)
						})
					})
				}()
				for i := range 10 {
					p.Send(fmt.Sprintf(`{"id":%d,"method":"wait"}`, i))
					owner.Go(func() {
						if err := conn.Ask(t.Context(), "wait", nil, nil); !errors.Is(err, wire.ErrClosed) {
							t.Errorf("Ask: %v", err)
						}
						ended.Add(1)
					})
				}
				synctest.Wait()
				start := time.Now()
				c.end(p, cancel)
				if err := <-served; !errors.Is(err, c.serve) {
					t.Errorf("Serve: %v", err)
				}
				owner.Wait()
				if n := ended.Load(); n != 20 || time.Since(start) > 0 {
					t.Errorf("%d of 20 ended, after %v", n, time.Since(start))
				}
				for what, err := range map[string]error{
					"Ask":    conn.Ask(t.Context(), "m", nil, nil),
					"Notify": conn.Notify("m", nil),
					"Room":   conn.Writer().Room(t.Context(), 1),
				} {
					if !errors.Is(err, wire.ErrClosed) {
						t.Errorf("%s after the end: %v", what, err)
					}
				}
				cancel(nil)
			})
		})
	}
}

// The end comes while the output is blocked: for a peer that is alive and does not read, after the linger.
func TestEndWithBlockedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out, p := wiretest.New(wire.Newline)
		c := wire.NewConn(in, out, wire.Options{Linger: 3 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- c.Serve(ctx, func(*wire.Call) {}) }()
		c.Notify("n", strings.Repeat("x", 1<<20))
		synctest.Wait()
		start := time.Now()
		cancel()
		if err := <-served; !errors.Is(err, context.Canceled) || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		p.Close()
	})
}

// A peer that ends its input and does not read the rest has left, also on a pipe of the system. An earlier failure is
// still reported.
func TestRestThatIsNotRead(t *testing.T) {
	for _, bad := range []error{nil, errors.New("disk on fire")} {
		fromPeer, toConn := io.Pipe()
		_, toPeer := osPipe(t)
		c := wire.NewConn(fromPeer, toPeer, wire.Options{Linger: time.Millisecond})
		c.Notify("n", strings.Repeat("x", 1<<20))
		toConn.CloseWithError(bad) // nil is io.EOF
		if err := c.Serve(t.Context(), nil); !errors.Is(err, bad) {
			t.Errorf("%v: Serve: %v", bad, err)
		}
		if err := c.Notify("n", nil); !errors.Is(err, wire.ErrClosed) || !strings.Contains(err.Error(), "did not read the rest") {
			t.Errorf("%v: Notify: %v", bad, err)
		}
	}
}

// The peer closes what we write to, but not what we read from: it has left all the same.
func TestBrokenOutputEndsTheConnection(t *testing.T) {
	fromPeer, _ := osPipe(t)
	fromConn, toPeer := osPipe(t)
	c := wire.NewConn(fromPeer, toPeer, wire.Options{})
	fromConn.Close()
	c.Notify("n", nil)
	if err := c.Serve(t.Context(), func(*wire.Call) {}); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }
func (f failing) Close() error              { return nil }

func TestServeReturnsWhatFailed(t *testing.T) {
	bad := errors.New("disk on fire")
	_, out := wiretest.Pipe()
	if err := wire.NewConn(failing{bad}, out, wire.Options{}).Serve(t.Context(), nil); !errors.Is(err, bad) {
		t.Errorf("reading: %v", err)
	}
	in, _ := wiretest.Pipe()
	c := wire.NewConn(in, failing{bad}, wire.Options{})
	c.Notify("n", nil)
	if err := c.Serve(t.Context(), nil); !errors.Is(err, bad) {
		t.Errorf("writing: %v", err)
	}
}

// A peer that ends its own side still gets its answers, if the connection drains.
func TestDrain(t *testing.T) {
	for _, c := range []struct {
		name  string
		drain time.Duration
		want  string
	}{
		{"no", 0, "sync"},
		{"long enough", 5 * time.Second, "sync async"},
		{"too short", time.Second, "sync"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out, p := wiretest.New(wire.Newline)
				conn := wire.NewConn(in, out, wire.Options{Drain: c.drain})
				var owner sync.WaitGroup
				p.Send(`{"id":"sync","method":"m"}`, `{"id":"async","method":"m"}`)
				p.Hangup()
				err := conn.Serve(t.Context(), func(call *wire.Call) {
					if string(call.ID) == `"sync"` {
						call.Reply(nil, nil)
						return
					}
					owner.Go(func() { <-time.After(2 * time.Second); call.Reply(nil, nil) })
				})
				if err != nil {
					t.Error(err)
				}
				var got []string
				for {
					msg, err := p.Next()
					if err != nil {
						break
					}
					got = append(got, strings.Split(msg, `"`)[7])
				}
				if strings.Join(got, " ") != c.want {
					t.Errorf("got %q", got)
				}
				owner.Wait()
			})
		})
	}
}

// Connections come and go without a trace.
func TestGoroutinesEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := range 200 {
		fromPeer, toConn := osPipe(t)
		fromConn, toPeer := osPipe(t)
		c := wire.NewConn(fromPeer, toPeer, wire.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var owner sync.WaitGroup
		owner.Go(func() { c.Serve(ctx, func(call *wire.Call) { call.Reply(nil, nil) }) })
		owner.Go(func() { c.Ask(ctx, "q", nil, nil) })
		io.WriteString(toConn, `{"id":1,"method":"m"}`+"\n")
		f := wire.Lines(fromConn, 0)
		f.Next()
		f.Next()
		if i%2 == 0 {
			cancel()
		} else {
			toConn.Close()
		}
		owner.Wait()
		cancel()
	}
	// What ends on its own may need a moment more.
	for left := time.After(30 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		select {
		case <-left:
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		default:
		}
	}
}
