package llm

import (
	"crypto/rand"
	"encoding/base64"
	"io"
	"strings"
	"sync"
)

// A picture is in memory once, as a part of the conversation. In the JSON of a request a mark stands in its
// place, and its data is encoded while the request is sent, at each try.

// pictureMark returns the mark. No text contains it: it is random, and nobody is sent it. It is valid base64, as
// what it stands for.
var pictureMark = sync.OnceValue(func() []byte { return []byte("picture/" + rand.Text()[:24]) })

// pictures are the pictures in a piece of a history.
type pictures struct {
	data  [][]byte // of each mark, in the order of the piece
	bytes int      // of the pictures in the piece's JSON: of the marks, and of addresses
}

// add appends the pictures that follow.
func (p *pictures) add(more pictures) {
	p.data = append(p.data, more.data...)
	p.bytes += more.bytes
}

// whole returns the address of a picture, with its data in the mark's place.
func (i *sentImage) whole() string {
	if i.data == nil {
		return i.URL
	}
	return strings.TrimSuffix(i.URL, string(pictureMark())) + base64.StdEncoding.EncodeToString(i.data)
}

// pictureReader reads a picture in base64.
type pictureReader struct {
	left    []byte // not encoded yet
	encoded []byte // not read yet
	buf     []byte
}

// pictureStep is the number of bytes that are encoded at once: a multiple of 3, so that only the end is padded.
const pictureStep = 24 << 10

// Read implements io.Reader.
func (r *pictureReader) Read(p []byte) (int, error) {
	if len(r.encoded) == 0 {
		n := min(pictureStep, len(r.left))
		if n == 0 {
			return 0, io.EOF
		}
		r.buf = base64.StdEncoding.AppendEncode(r.buf[:0], r.left[:n])
		r.encoded, r.left = r.buf, r.left[n:]
	}
	n := copy(p, r.encoded)
	r.encoded = r.encoded[n:]
	return n, nil
}
