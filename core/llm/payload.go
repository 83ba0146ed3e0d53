package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"slices"

	"dragoman/core"
	"dragoman/core/inference"
	"dragoman/core/jsonscan"
)

// payload is a request's body in three pieces: the part before the history, the past
// from earlier requests, and the rest. The pieces never change. They have a mark in the place
// of each picture.
type payload struct {
	head, past, rest []byte
	pictures         [][]byte
	chars            int // characters, without pictures
}

// len returns the size of the body in bytes.
func (p payload) len() int64 {
	n := len(p.head) + len(p.past) + len(p.rest)
	for _, data := range p.pictures {
		n += base64.StdEncoding.EncodedLen(len(data)) - len(pictureMark())
	}
	return int64(n)
}

// oneWrite is the size of a body in bytes up to which it is copied into one piece. Then net/http sends it
// with the request's head, in one or two system calls, and the server is not woken for each piece.
const oneWrite = 64 << 10

func (p payload) reader() io.Reader {
	if p.len() <= oneWrite {
		return bytes.NewReader(p.whole())
	}
	var parts []io.Reader
	left := p.pictures
	for _, piece := range [][]byte{p.head, p.past, p.rest} {
		for len(left) > 0 {
			before, after, ok := bytes.Cut(piece, pictureMark())
			if !ok {
				break
			}
			parts = append(parts, bytes.NewReader(before), &pictureReader{left: left[0]})
			piece, left = after, left[1:]
		}
		parts = append(parts, bytes.NewReader(piece))
	}
	return io.MultiReader(parts...)
}

// whole returns the body in one piece.
func (p payload) whole() []byte {
	body := slices.Concat(p.head, p.past, p.rest)
	for _, data := range p.pictures {
		before, after, _ := bytes.Cut(body, pictureMark())
		body = slices.Concat(before, base64.StdEncoding.AppendEncode(nil, data), after)
	}
	return body
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
	rest, shown := w.elements(m, messages)
	return compose(head, tail, name, first, past, rest, shown)
}

// cacheKey identifies a session for a service's cache without revealing its id.
func cacheKey(s core.SessionID) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// compose returns a body that is one object: the members of head, then the list called
// name with first, the past and rest, then the members of tail. Both head and tail have
// a member. shown are the pictures in rest.
func compose(
	head, tail any,
	name string,
	first []any,
	past encodedPiece,
	rest []any,
	shown pictures,
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
	chars := characters(h) + past.chars + characters(t) - shown.bytes
	return payload{h, past.json, t, slices.Concat(past.pictures, shown.data), chars}, nil
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
	// elements encodes messages as elements of the format's list. shown are the pictures in them.
	elements(m *remote, messages []inference.Message) (list []any, shown pictures)
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
