package upstream

import (
	"io"
	"strings"
	"testing"

	"dragoman/adapters/wire"
)

// An array on a server's output is no message unless its elements are, so that nothing answers a line of
// a log.
func TestArraysOnAServersOutput(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for line, want := range map[string]string{
		`["starting",1]`:              "",
		`[{"level":"info"}]`:          "",
		`[]`:                          "",
		`[` + answer + `]`:            `[` + answer + `]`,
		`["log",` + answer + `,null]`: `[` + answer + `]`,
		`[1`:                          "",
	} {
		for _, whole := range []bool{false, true} {
			var dropped []string
			in := io.NopCloser(strings.NewReader(line + "\n"))
			s := &sieve{in: in, frames: wire.Lines(in, 1<<20), junk: func(line string) { dropped = append(dropped, line) }, whole: whole}
			got, _ := s.Next()
			if string(got) != want || (want == line) != (len(dropped) == 0) {
				t.Errorf("%s: %s, dropped %q", line, got, dropped)
			}
		}
	}
}
