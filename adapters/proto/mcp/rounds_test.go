package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// A call is repeated with the answers and the state until it has a result.
func TestRounds(t *testing.T) {
	var calls, asked []string
	results := []string{
		`{"resultType":"input_required","inputRequests":{"b":{"method":"roots/list"},"a":{"method":"elicitation/create","params":{"x":1}}},"requestState":"s1"}`,
		`{"resultType":"input_required","requestState":"s2"}`,
		`{"resultType":"complete","inputRequests":{"a":{"method":"roots/list"}}}`,
	}
	got, err := Rounds(func(answers map[string]json.RawMessage, state json.RawMessage) (json.RawMessage, error) {
		calls = append(calls, fmt.Sprintf("%s %s", answers, state))
		return json.RawMessage(results[len(calls)-1]), nil
	}, func(q InputRequest) (json.RawMessage, error) {
		asked = append(asked, q.Method+string(q.Params))
		return json.RawMessage(q.Method), nil
	})
	if err != nil || string(got) != results[2] {
		t.Errorf("got %s, %v", got, err)
	}
	if want := []string{`elicitation/create{"x":1}`, "roots/list"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if want := []string{"map[] ", `map[a:elicitation/create b:roots/list] "s1"`, `map[] "s2"`}; !slices.Equal(calls, want) {
		t.Errorf("called with %q, want %q", calls, want)
	}
}

// A server that asks every time is given up, and so is a call that fails or is not answered.
func TestRoundsEnd(t *testing.T) {
	asks := json.RawMessage(`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`)
	no := errors.New("no")
	for _, c := range []struct {
		call, answer, want error
		calls              int
	}{
		{nil, nil, RoundsError{}, MaxRounds},
		{no, nil, no, 1},
		{nil, no, no, 1},
	} {
		calls := 0
		_, err := Rounds(func(map[string]json.RawMessage, json.RawMessage) (json.RawMessage, error) {
			calls++
			return asks, c.call
		}, func(InputRequest) (json.RawMessage, error) { return json.RawMessage("{}"), c.answer })
		if !errors.Is(err, c.want) || calls != c.calls {
			t.Errorf("%v, %v: %d calls, %v", c.call, c.answer, calls, err)
		}
	}
}
