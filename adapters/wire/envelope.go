package wire

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/creachadair/jrpc2"

	"dragoman/core/jsonscan"
)

// MaxDepth limits the nesting of a message, its own object included. It is far below
// the 10,000 of encoding/json, so that a part of a message can still be read where it is
// stored or relayed within another.
const MaxDepth = 1000

// Message is one JSON-RPC envelope, taken apart. All but Method are slices of the parsed text.
type Message struct {
	ID        json.RawMessage // a string or number as it was written; nil: absent or null
	HasID     bool            // a member "id" was there, possibly null
	Method    string
	Params    json.RawMessage // an object or array; nil: absent or null
	Result    json.RawMessage // null is a result; nil: absent
	Error     json.RawMessage // nil: absent or null
	Versioned bool            // "jsonrpc":"2.0" was there
}

// Kind is the kind of a Message.
type Kind uint8

const (
	Notification Kind = iota // a method, and no id that could be answered
	Request                  // a method and an id
	Response                 // no method, and a result or an error
)

// Kind returns whether the message is a request, a notification or a response. A method with
// "id":null is a notification, as in JSON-RPC 1.0, except for connections with NullIDs; 2.0 discourages
// it for requests, and an answer with a null id would mean that a message could not be read at all.
func (m *Message) Kind() Kind {
	switch {
	case m.Method == "" && (m.Result != nil || m.Error != nil):
		return Response
	case m.ID != nil:
		return Request
	default:
		return Notification
	}
}

// CheckID returns an error for a method with "id":null, which is forbidden by all versions of MCP that are
// dates. The error is to be answered with a null id.
func (m *Message) CheckID() error {
	if m.Method == "" || !m.HasID || m.ID != nil {
		return nil
	}
	return NullIDError(m.Method)
}

// NullIDError is the error of CheckID.
func NullIDError(method string) error {
	return jrpc2.Errorf(jrpc2.InvalidRequest, "%.60s: the id of a request must not be null", method)
}

// Parse parses one envelope. The text must be a single JSON object in valid UTF-8,
// at most [MaxDepth] deep; names of members count exactly as written; unknown members
// are dropped; "jsonrpc" may be missing but must be "2.0" if present.
//
// The error is a *jrpc2.Error to be answered: with jrpc2.ParseError what is no JSON,
// with a null id; with jrpc2.InvalidRequest what is no envelope, with the Message's ID
// where that is not nil. A message whose Kind is Response must never be answered, valid
// or not.
func Parse(text []byte) (Message, error) {
	if err := checkJSON(text); err != nil {
		return Message{}, err
	}
	return parseValid(jsonscan.Trim(text))
}

// checkJSON returns an error unless text is one JSON value in UTF-8. Its stack is bounded.
func checkJSON(text []byte) error {
	if !utf8.Valid(text) {
		return jrpc2.Errorf(jrpc2.ParseError, "not valid UTF-8")
	}
	if jsonscan.Valid(text) {
		return nil
	}
	var ignored json.RawMessage
	err := json.Unmarshal(text, &ignored)
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return jrpc2.Errorf(jrpc2.ParseError, "not valid JSON: %v at byte %d", s, s.Offset)
	}
	return jrpc2.Errorf(jrpc2.ParseError, "not valid JSON")
}

// envelope is the state of taking one message apart.
type envelope struct {
	Message
	seen  uint8  // a bit for each member that was there
	fault string // the first thing wrong, or ""
}

const (
	seenVersion = 1 << iota
	seenID
	seenMethod
	seenParams
	seenResult
	seenError
)

// parseValid is Parse for a text that is known to be JSON, without white space around it. It
// continues after an error, because the id may come later.
func parseValid(b []byte) (Message, error) {
	if len(b) == 0 || b[0] != '{' {
		return Message{}, jrpc2.Errorf(jrpc2.InvalidRequest, "a message must be a JSON object")
	}
	var e envelope
	for key, val := range members(b) {
		if val == nil {
			e.invalid("nesting is too deep")
			break
		}
		e.member(key, val)
	}
	e.check()
	if e.fault != "" {
		return e.Message, jrpc2.Errorf(jrpc2.InvalidRequest, "invalid message: %s", e.fault)
	}
	return e.Message, nil
}

func (e *envelope) invalid(why string) {
	if e.fault == "" {
		e.fault = why
	}
}

func (e *envelope) member(key, val []byte) {
	switch string(jsonscan.Unescaped(key)) {
	case "jsonrpc":
		e.once(seenVersion, "jsonrpc")
		if e.Versioned = string(unquoted(val)) == "2.0"; !e.Versioned {
			e.invalid(`jsonrpc must be "2.0"`)
		}
	case "id":
		e.once(seenID, "id")
		switch e.HasID = true; val[0] {
		case 'n':
		case '{', '[', 't', 'f':
			e.invalid("id must be a string or a number")
		default:
			e.ID = val
		}
	case "method":
		e.once(seenMethod, "method")
		if e.Method = string(unquoted(val)); e.Method == "" {
			e.invalid("method must be a string that is not empty")
		}
	case "params":
		e.once(seenParams, "params")
		switch val[0] {
		case '{', '[':
			e.Params = val
		case 'n':
		default:
			e.invalid("params must be an object or an array")
		}
	case "result":
		e.once(seenResult, "result")
		e.Result = val
	case "error":
		e.once(seenError, "error")
		if val[0] != 'n' {
			e.Error = val
		}
	}
}

func (e *envelope) once(bit uint8, name string) {
	if e.seen&bit != 0 {
		e.invalid("duplicate member " + name)
	}
	e.seen |= bit
}

// check holds the rules that concern several members.
func (e *envelope) check() {
	switch {
	case e.Method != "" && (e.Result != nil || e.Error != nil):
		e.invalid("a message with a method has no result and no error")
	case e.Method != "":
	case e.Result == nil && e.Error == nil:
		e.invalid("neither a method nor a result nor an error")
	case e.Result != nil && e.Error != nil:
		e.invalid("both a result and an error")
	case !e.HasID:
		e.invalid("an answer without an id")
	}
}
