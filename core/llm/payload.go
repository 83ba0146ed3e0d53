package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"

	"dragoman/core"
	"dragoman/core/inference"
	"dragoman/core/jsonscan"
)

// payload is a request's body in three pieces: the part before the history, the past
// from earlier requests, and the rest. The pieces never change.
type payload struct {
	head, past, rest []byte
	chars            int // characters, without pictures
}

func (p payload) len() int64 { return int64(len(p.head) + len(p.past) + len(p.rest)) }

// oneWrite is the size of a body in bytes up to which it is copied into one piece. Then net/http sends it
// with the request's head, in one or two system calls, and the server is not woken for each piece.
const oneWrite = 64 << 10

func (p payload) reader() io.Reader {
	if p.len() <= oneWrite {
		return bytes.NewReader(slices.Concat(p.head, p.past, p.rest))
	}
	return io.MultiReader(bytes.NewReader(p.head), bytes.NewReader(p.past), bytes.NewReader(p.rest))
}

// body makes a request's body: the members of head, the list called name with first
// and the messages, and the members of tail.
func (m *remote) body(
	r *inference.Request,
	w stretch,
	head, tail any,
	name string,
	first []any,
) (payload, error) {
	past, messages, err := m.past(r, w)
	if err != nil {
		return payload{}, err
	}
	rest, pictures := w.elements(m, messages)
	return compose(head, tail, name, first, past, rest, pictures)
}

// cacheKey identifies a session for a service's cache without revealing its id.
func cacheKey(s core.SessionID) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// compose returns a body that is one object: the members of head, then the list called
// name with first, the past and rest, then the members of tail. Both head and tail have
// a member. pictures counts the bytes in rest that are not text.
func compose(
	head, tail any,
	name string,
	first []any,
	past encodedPiece,
	rest []any,
	pictures int,
) (payload, error) {
	var p payload
	h, err := objectOf(head)
	if err != nil {
		return p, err
	}
	h = append(h[:len(h)-1:len(h)-1], `,"`+name+`":[`...)
	if h, err = encodeList(h, first); err != nil {
		return p, err
	}
	if len(first) > 0 && len(past.json)+len(rest) > 0 {
		h = append(h, ',')
	}
	var t []byte
	if len(past.json) > 0 && len(rest) > 0 {
		t = append(t, ',')
	}
	if t, err = encodeList(t, rest); err != nil {
		return p, err
	}
	t = append(t, `],`...)
	at := len(t)
	if t, err = jsonscan.Append(t, tail); err != nil {
		return p, err
	}
	t = append(t[:at], t[at+1:]...) // without its brace
	return payload{h, past.json, t, characters(h) + past.chars + characters(t) - pictures}, nil
}

// objectOf encodes an object, unless it is encoded. The result must not be changed.
func objectOf(v any) (objectText, error) {
	if text, ok := v.(objectText); ok {
		return text, nil
	}
	return jsonscan.Append(nil, v)
}

// encodeList appends the elements of a list, with commas between them.
func encodeList(dst []byte, list []any) ([]byte, error) {
	var err error
	for i, one := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = jsonscan.Append(dst, one); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// listOf converts a list to the form for compose.
func listOf[T any](list []T) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// stretch encodes a piece of a history in a wire format.
type stretch interface {
	// elements encodes messages as elements of the format's list. pictures counts
	// the bytes in them that are not text.
	elements(m *remote, messages []inference.Message) (list []any, pictures int)
	// parts reports whether the messages before messages[k] and those from it on are
	// encoded independently of each other.
	parts(m *remote, messages []inference.Message, k int) bool
	// cut returns the last index where the history can be cut and before which the
	// next request changes nothing; 0: there is none.
	cut(m *remote, messages []inference.Message) int
}

// eachAlone implements a part of stretch for formats in which every message is encoded alone.
type eachAlone struct{}

func (eachAlone) parts(*remote, []inference.Message, int) bool { return true }

func (eachAlone) cut(_ *remote, messages []inference.Message) int { return len(messages) }
