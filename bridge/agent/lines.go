package agent

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"sync"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/core"
)

// output is what an agent sends, as messages. A line that is too long to be one is dropped and
// reported. If it is an answer, its request fails.
type output struct {
	io.ReadCloser
	frames  wire.Framer
	dropped func(why error) // is called by who reads
}

// Next implements wire.Framer.
func (o *output) Next() ([]byte, error) {
	line, err := o.frames.Next()
	fault, ok := errors.AsType[*wire.FrameError](err)
	if !ok || fault.Head == nil {
		return line, err
	}
	o.dropped(fault)
	if m := answerHead().FindSubmatch(fault.Head); m != nil {
		return wire.AppendAnswer(nil, json.RawMessage(m[1]), nil, jrpc2.Errorf(jrpc2.InternalError, "the answer was dropped: %v", fault)), nil
	}
	return nil, err
}

// answerHead matches the beginning of an answer to a request of ours, whose ids are numbers.
var answerHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]+)\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"`)
})

// dropped tells the users of the program's sessions of a message that was dropped.
func (p *peer) dropped(why error) {
	told := map[*conversation]bool{}
	p.mu.Lock()
	for _, r := range p.talks {
		told[r.c] = true
	}
	p.mu.Unlock()
	for c := range told {
		c.notice(core.Warning, "a message of it was dropped: "+why.Error())
	}
}
