package llm

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// piecesReader returns one piece for each Read, and calls before for each but the first.
type piecesReader struct {
	pieces []string
	before func()
	begun  bool
}

func (r *piecesReader) Read(p []byte) (int, error) {
	if r.begun && r.before != nil {
		r.before()
	}
	r.begun = true
	if len(r.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.pieces[0])
	if r.pieces[0] = r.pieces[0][n:]; r.pieces[0] == "" {
		r.pieces = r.pieces[1:]
	}
	return n, nil
}

func modelOf(t testing.TB, body io.Reader) inference.Model {
	rt := roundTrip(func(*http.Request) io.Reader { return body })
	r := New(Config{Transport: rt, Providers: []Provider{{Name: "svc", Kind: KindOpenAIChat, BaseURL: "http://svc.test/v1"}}})
	m, err := r.Model("svc/m")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func said(member, text string) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{%q:%s}}]}\n\n", member, quote(text))
}

// What one read brings of a part is one delta, and all of it is yielded before the next read.
func TestGather(t *testing.T) {
	var got []string
	src := &piecesReader{pieces: []string{
		said("content", "first"),
		said("content", "a") + said("content", "b\n") + said("content", "c") + said("content", "cut")[:20],
		said("content", "cut")[20:] + said("reasoning", "x") + said("reasoning", "y") + said("content", "d") +
			"data: " + toolPiece(0, "call_1", "f", "{}") + "\n\n" + said("content", "e"),
		"data: " + finished("stop") + "\n\ndata: [DONE]\n\n",
	}, before: func() { got = append(got, "read") }}
	for d, err := range modelOf(t, src).Stream(t.Context(), coretest.ModelRequest()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s %s", d.Block, d.Kind, d.Text)))
	}
	want := []string{
		"0 text first", "read", "0 text ab\nc", "read", "0 text cut", "1 thought xy", "1 sealed", "2 text d",
		"3 tool_start", "3 tool_args {}", "4 text e", "read", "3 tool_end", "0 usage", "0 stop", "read",
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

// A delta is not much longer than the limit, and nothing is lost when much comes at once.
func TestGatherIsBounded(t *testing.T) {
	var body, want strings.Builder
	for i := range 5000 {
		text := fmt.Sprintf("%d é,", i)
		body.WriteString(said("content", text))
		want.WriteString(text)
	}
	body.WriteString("data: " + finished("stop") + "\n\ndata: [DONE]\n\n")
	n := 0
	h := coretest.Hear(t.Context(), t, modelOf(t, strings.NewReader(body.String())), coretest.ModelRequest(), func(d inference.Delta) bool {
		if n++; len(d.Text) > maxGathered+20 {
			t.Errorf("a delta of %d bytes", len(d.Text))
		}
		return true
	})
	if h.Err != nil || h.Text != want.String() || n > 5000/10 {
		t.Errorf("%d bytes of %d in %d deltas, %v", len(h.Text), want.Len(), n, h.Err)
	}
}

// Text that has come is yielded before the error that ends the answer, and a reader that leaves gets
// nothing more.
func TestGatheredTextComesBeforeTheEnd(t *testing.T) {
	text := said("content", "a") + said("content", "b")
	for name, src := range map[string]io.Reader{
		"broken":   io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("reset"))),
		"reported": strings.NewReader(text + "data: {\"error\":{\"message\":\"overloaded\"}}\n\n"),
		"cut":      strings.NewReader(text),
	} {
		h := coretest.Hear(t.Context(), t, modelOf(t, src), coretest.ModelRequest(), nil)
		if h.Text != "ab" || h.Err == nil {
			t.Errorf("%s: %q, %v", name, h.Text, h.Err)
		}
	}
	src := &piecesReader{pieces: []string{said("content", "a"), text}}
	n := 0
	for d, err := range modelOf(t, src).Stream(t.Context(), coretest.ModelRequest()) {
		if n++; err != nil || d.Text != "a" {
			t.Error(d, err)
		}
		break
	}
	if n != 1 || len(src.pieces) != 1 {
		t.Errorf("%d deltas, %d pieces are left", n, len(src.pieces))
	}
}
