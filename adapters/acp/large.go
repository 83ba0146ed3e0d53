package acp

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/fileuri"
	"dragoman/core/jsonscan"
)

// No line is longer than 1 MiB, since some clients cannot read it, and a session with such a line
// could never be loaded there. Content that does not fit is replaced by a link with its size and
// type (linked). The rest of a line is small by itself or cut.
const (
	// maxInline limits the content of one line, in bytes as encoded there.
	maxInline = 768 << 10
	// maxWritten limits the text of a file that the client is to write, in bytes as encoded there. A
	// larger file is written on the disk.
	maxWritten = 1<<20 - 32<<10
	// maxName limits the texts of a link, such as its name.
	maxName = 1 << 10
	// maxPlan limits the entries of a plan.
	maxPlan = 100
)

// place is the part of a session that content belongs to: "message/ID" or "call/ID".
type place struct {
	session core.SessionID
	part    string
	n       int // the index of the block there
}

func messagePlace(v *View, id core.MessageID, n int) place {
	return place{v.Session, "message/" + url.PathEscape(string(id)), n}
}

func callPlace(v *View, id core.CallID, n int) place {
	return place{v.Session, "call/" + url.PathEscape(string(id)), n}
}

// uri returns the URI of content that has none of its own: it stays the same in every load.
func (p place) uri() string {
	return fmt.Sprintf("dragoman://session/%s/%s/%d", url.PathEscape(string(p.session)), p.part, p.n)
}

// inline returns a block in the protocol's form, and the bytes that it takes. A block that does
// not fit into room bytes becomes a link.
func inline(b core.Block, at place, room int) (acp.ContentBlock, int) {
	n := encoded(b, room)
	if n > room {
		b = linked(b, at)
		n = encoded(b, room)
	}
	return content(b), n
}

// encoded returns the bytes that a block takes in a line, or a larger number than room.
func encoded(b core.Block, room int) int {
	switch b := b.(type) {
	case core.Text:
		return lineBytes(room, b.Text)
	case core.Image:
		return base64.StdEncoding.EncodedLen(len(b.Data)) + lineBytes(room, b.URI, b.MIME)
	case core.Audio:
		return base64.StdEncoding.EncodedLen(len(b.Data)) + lineBytes(room, b.MIME)
	case core.Link:
		return lineBytes(room, b.URI, b.Name, b.Title, b.Description, b.MIME)
	case core.Resource:
		return base64.StdEncoding.EncodedLen(len(b.Blob)) + lineBytes(room, b.Text, b.URI, b.MIME)
	case core.Diff:
		return lineBytes(room, b.Old, b.New, b.Path)
	case core.Terminal:
	}
	return 0
}

// lineBytes returns the bytes that texts take in a line, or a number larger than room.
func lineBytes(room int, texts ...string) int {
	n := 0
	for _, s := range texts {
		if n += len(s); n > room {
			return n
		}
		n += len(jsonscan.AppendString(nil, s)) - len(s)
	}
	return n
}

// linked returns a link in place of a block: to the file that it comes from if there is one, to its
// page, or else to its place in the session.
func linked(b core.Block, at place) core.Link {
	l := core.Link{URI: at.uri()}
	from := ""
	switch b := b.(type) {
	case core.Image:
		l.Name, l.MIME, l.Size, from = "image", b.MIME, int64(len(b.Data)), b.URI
	case core.Audio:
		l.Name, l.MIME, l.Size = "audio", b.MIME, int64(len(b.Data))
	case core.Resource:
		l.Name, l.MIME, l.Size, from = "resource", b.MIME, int64(len(b.Text)+len(b.Blob)), b.URI
	case core.Diff:
		l.Name, l.Size, from = "change", int64(len(b.New)), fileuri.Of(b.Path)
		l.Description = fmt.Sprintf("The change is too large to be shown: %d lines added, %d removed.", b.Added, b.Removed)
	case core.Link:
		l, from = b, b.URI
		l.URI = at.uri()
	case core.Text:
		l.Name, l.MIME, l.Size = "text", "text/plain", int64(len(b.Text))
	case core.Terminal:
	}
	l.Title, l.Description = display.Clipped(l.Title, maxName), display.Clipped(l.Description, maxName)
	l.MIME = display.Cut(l.MIME, maxName)
	if path, err := fileuri.Path(from); err == nil {
		l.Name = filepath.Base(path)
	}
	if len(from) <= maxName && from != "" && !strings.HasPrefix(strings.ToLower(from), "data:") {
		l.URI = from
	}
	l.Name = display.Clipped(l.Name, maxName)
	return l
}
