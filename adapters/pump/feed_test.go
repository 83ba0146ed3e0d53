package pump

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// nullOutput is an output that accepts everything.
type nullOutput struct{}

func (nullOutput) PutLines([]byte) error                 { return nil }
func (nullOutput) Room(ctx context.Context, _ int) error { return ctx.Err() }

// silentFeed is a feed that writes nothing.
type silentFeed struct{ name string }

func (*silentFeed) Encode(dst []byte, _ core.Record) ([]byte, func()) { return dst, nil }
func (*silentFeed) Caught(core.Pos)                                   {}
func (*silentFeed) Past() bool                                        { return false }
func (*silentFeed) Lost(error)                                        {}

// A feed has one reader, which is closed when the feed is removed; all others are closed when the
// client has left.
func TestReadersEndWithTheirFeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := coretest.Gateway(coretest.NewMemory(), func(context.Context, *core.Turn) (core.StopReason, error) { return core.StopEnd, nil }, nil)
		p := New(nullOutput{})
		ctx, leave := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- p.Run(ctx) }()
		var feeds []*silentFeed
		for i := range 5 {
			s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: core.SessionID(fmt.Sprint("s", i)), Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			f := &silentFeed{fmt.Sprint(i)}
			feeds = append(feeds, f)
			p.Add(s.Attach(core.Client{Name: "tester"}), core.Pos{}, f, nil)
		}
		synctest.Wait()
		readers := map[Feed]*core.Reader{}
		for r, f := range p.feeds {
			readers[f] = r
		}
		if len(p.feeds) != 5 || len(readers) != 5 {
			t.Fatalf("%d readers of %d feeds", len(p.feeds), len(readers))
		}
		open := func() (n int) {
			t.Helper()
			synctest.Wait()
			for _, r := range readers {
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := r.Next(ended); !errors.Is(err, core.ErrClosed) {
					n++
				}
			}
			return n
		}
		p.Remove(feeds[2])
		if n := open(); n != 4 || len(p.feeds) != 4 {
			t.Errorf("%d readers are open, %d feeds are kept", n, len(p.feeds))
		}
		leave()
		if err := <-ran; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n := open(); n != 0 || len(p.feeds) != 0 {
			t.Errorf("%d readers are open, %d feeds are kept for a client that has left", n, len(p.feeds))
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
