package wire

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) Close() error                { return nil }

// Ids stay below 2^31, start again from 1, and skip what is still open.
func TestIDsWrap(t *testing.T) {
	c := NewConn(io.NopCloser(strings.NewReader("")), nowhere{}, Options{})
	done := func(json.RawMessage, error) {}
	start := func() int64 {
		a, err := c.Start("q", nil, done)
		if err != nil {
			t.Fatal(err)
		}
		return a.id
	}
	if id := start(); id != 1 {
		t.Errorf("the first id is %d", id)
	}
	c.last = maxID - 1
	if id := start(); id != 1<<31-1 {
		t.Errorf("the highest id is %d", id)
	}
	if id := start(); id != 2 {
		t.Errorf("behind the highest comes %d", id)
	}
	// An answer to an id of the last round is late, not stray.
	c.answered(Message{ID: json.RawMessage("1000"), Result: json.RawMessage("1")}, nil)
	if s := c.Stats(); s.Late != 1 || s.Stray != 0 {
		t.Errorf("%+v", s)
	}
}

// A request that cannot be queued is forgotten, and told once only.
func TestStartAfterTheEnd(t *testing.T) {
	c := NewConn(io.NopCloser(strings.NewReader("")), nowhere{}, Options{})
	c.out.Close()
	done := func(json.RawMessage, error) { t.Error("done was called") }
	if a, err := c.Start("q", nil, done); a != nil || !errors.Is(err, ErrClosed) {
		t.Errorf("%v, %v", a, err)
	}
	if len(c.asked) > 0 {
		t.Error("it was kept")
	}
	c.release()
	if _, err := c.Start("q", nil, done); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
