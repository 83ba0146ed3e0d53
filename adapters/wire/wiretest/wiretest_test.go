package wiretest_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
)

// A pipe holds 64 KiB, takes parts of a Write, and ends what waits when either end closes.
func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := wiretest.Pipe()
		text := strings.Repeat("0123456789", 20_000)
		wrote := make(chan error, 1)
		go func() {
			_, err := io.WriteString(w, text)
			wrote <- err
			w.Close()
		}()
		synctest.Wait()
		select {
		case err := <-wrote:
			t.Errorf("200,000 bytes fit: %v", err)
		default:
		}
		if b, err := io.ReadAll(r); err != nil || string(b) != text {
			t.Errorf("%d bytes, %v", len(b), err)
		}
		if err := <-wrote; err != nil {
			t.Error(err)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a Write after Close: %v", err)
		}

		r, w = wiretest.Pipe()
		go func() {
			_, err := io.WriteString(w, text)
			wrote <- err
		}()
		synctest.Wait()
		r.Close()
		if err := <-wrote; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a Write that nobody reads: %v", err)
		}

		r, _ = wiretest.Pipe()
		read := make(chan error, 1)
		go func() {
			_, err := r.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		r.Close()
		if err := <-read; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a Read that is closed: %v", err)
		}
	})
}

func TestPeer(t *testing.T) {
	for _, framing := range []wire.Framing{wire.Newline, wire.ContentLength} {
		synctest.Test(t, func(t *testing.T) {
			in, out, p := wiretest.New(framing)
			w := wire.NewWriter(out, framing)
			go w.Run(t.Context())
			f := framing.Framer(in, 0)
			if p.Pending() {
				t.Error("pending before anything was sent")
			}
			go func() { // answers each message with itself, twice
				w.Put([]byte("hello"))
				for {
					b, err := f.Next()
					if err != nil {
						w.Close()
						return
					}
					w.Put(b)
					w.Put(b)
				}
			}()
			script := "# a remark\n-> a\n-> b\n<- wrong\n\n-> c\n"
			want := "<- hello\n# a remark\n-> a\n-> b\n<- a\n<- a\n<- b\n<- b\n\n-> c\n<- c\n<- c\n"
			if got, err := p.Play(script, synctest.Wait); err != nil || got != want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
			}
			p.Send("d")
			synctest.Wait()
			for range 2 {
				if !p.Pending() {
					t.Error("nothing pending")
				}
				if msg, err := p.Next(); msg != "d" || err != nil {
					t.Errorf("%q, %v", msg, err)
				}
			}
			p.Hangup()
			if msg, err := p.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %q, %v", msg, err)
			}
			if err := p.Send("e"); err == nil {
				t.Error("sent after Hangup")
			}
		})
	}
}

// What is not exactly a frame is an error.
func TestPeerIsStrict(t *testing.T) {
	for _, c := range []struct {
		framing wire.Framing
		in      string
	}{
		{wire.Newline, "half a line"},
		{wire.ContentLength, "content-length: 1\r\n\r\nx"},
		{wire.ContentLength, "Content-Length: 2\r\n\r\nx"},
		{wire.ContentLength, "Content-Length: 1\n\nx"},
	} {
		_, out, p := wiretest.New(c.framing)
		io.WriteString(out, c.in)
		out.Close()
		if msg, err := p.Next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%q: %q, %v", c.in, msg, err)
		}
		p.Close()
	}
}
