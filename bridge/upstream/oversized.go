package upstream

import (
	"encoding/json"
	"regexp"
	"sync"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
)

// oversized returns an error for the request whose response exceeds the limit, so that the
// request ends; nil: the message is not known to be a response. frames has returned the fault.
func oversized(fault *wire.FrameError, frames wire.Framer) []byte {
	skipper, ok := frames.(wire.Skipper)
	if !ok || fault.Head == nil {
		return nil
	}
	tail := skipper.Skip()
	id := answerID(fault.Head, tail)
	if id == nil {
		return nil
	}
	return wire.AppendAnswer(nil, id, nil,
		jrpc2.Errorf(jrpc2.InternalError, "%v", streamable.TooLong(MaxMessage)))
}

// answerID finds the id of a response of which only the beginning and the end are known: as a
// member before the result, or as the last one except for the version. nil: it is not there.
func answerID(head, tail []byte) json.RawMessage {
	for _, at := range []struct {
		pattern *regexp.Regexp
		text    []byte
	}{{idFirst(), head}, {idLast(), tail}} {
		if m := at.pattern.FindSubmatch(at.text); m != nil && json.Valid(m[1]) {
			return m[1]
		}
	}
	return nil
}

// The patterns match no id within a result: one begins with the line, and the other ends with the
// brace that closes the message. They are compiled for the first message that is too long, not at
// the start of every process.
var (
	idFirst = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\{\s*` + version + `?"id"\s*:\s*(` + scalar + `)\s*,\s*` +
			version + `?"(?:result|error)"`)
	})
	idLast = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`,\s*"id"\s*:\s*(` + scalar + `)\s*` +
			`(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}$`)
	})
)

const (
	version = `(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)`
	scalar  = `-?[0-9][0-9.eE+-]*|"(?:[^"\\]|\\.)*"`
)
