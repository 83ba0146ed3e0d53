package wire_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
)

// transcript is where a recorder writes to.
type transcript struct {
	bytes.Buffer
	err error
}

func (t *transcript) Write(b []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	return t.Buffer.Write(b)
}
func (t *transcript) Close() error { return nil }

func TestRecorder(t *testing.T) {
	eachFraming(t, func(t *testing.T, framing wire.Framing) {
		synctest.Test(t, func(t *testing.T) {
			var out transcript
			rec := wire.NewRecorder(&out)
			var owner sync.WaitGroup
			owner.Go(func() {
				if err := rec.Run(t.Context()); err != nil {
					t.Error(err)
				}
			})
			c, p, stop := serve(t, wire.Options{Framing: framing, Recorder: rec, MaxMessage: 100}, echo)
			script := `-> {"id":1,"method":"echo","params":["a"]}
<- {"jsonrpc":"2.0","id":1,"result":["a"]}
-> {broken
<- {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not valid JSON: invalid character 'b' looking for beginning of object key string at byte 2"}}
-> {"method":"note"}
`
			play(t, p, script)
			c.Writer().PutLines([]byte("{\"a\":1}\n{\"b\":2}\n"))
			synctest.Wait()
			p.Send(string(bytes.Repeat([]byte("x"), 101)))
			synctest.Wait()
			stop()
			rec.Close()
			owner.Wait()
			want := script + "<- {\"a\":1}\n<- {\"b\":2}\n" + "-- message exceeds 100 bytes\n" +
				`<- {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"message exceeds 100 bytes"}}` + "\n"
			if got := out.String(); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	})
}

// A recorder that fails, or falls behind, does not disturb the connection.
func TestRecorderFails(t *testing.T) {
	for _, c := range []struct {
		name string
		out  func() (*wire.Recorder, func())
	}{
		{"broken", func() (*wire.Recorder, func()) {
			return wire.NewRecorder(&transcript{err: errors.New("disk full")}), func() {}
		}},
		{"stuck", func() (*wire.Recorder, func()) {
			r, w := wiretest.Pipe()
			return wire.NewRecorder(w), func() { r.Close() }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec, release := c.out()
				rec.Limit = 200_000
				var owner sync.WaitGroup
				var failed error
				owner.Go(func() { failed = rec.Run(t.Context()) })
				_, p, stop := serve(t, wire.Options{Recorder: rec}, echo)
				text := `{"id":1,"method":"echo","params":["` + string(bytes.Repeat([]byte("x"), 50_000)) + `"]}`
				for range 20 {
					owner.Go(func() { p.Send(text) })
					if _, err := p.Next(); err != nil {
						t.Fatal(err)
					}
				}
				stop()
				release()
				owner.Wait()
				if failed == nil {
					t.Error("the recorder does not say that it failed")
				}
			})
		})
	}
}
