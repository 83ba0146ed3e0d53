package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dragoman/core"
	"dragoman/core/jsonscan"
)

// The stored names of the types of blocks. They never change.
const (
	blockText     = "text"
	blockImage    = "image"
	blockAudio    = "audio"
	blockLink     = "link"
	blockResource = "resource"
	blockDiff     = "diff"
	blockTerminal = "terminal"
)

// ForeignBlock is the URI scheme of a block that a later version of the gateway wrote.
// It is read as a Resource, dragoman-block:TYPE, whose text is the block's JSON: so
// every reader can show it, and nothing is lost.
const ForeignBlock = "dragoman-block:"

// AppendBlocks appends blocks to dst as a JSON array in one line. Each is an
// object with its type; a nil Block is left out.
func AppendBlocks(dst []byte, blocks []core.Block) []byte {
	if n := dataSize(blocks); n > largeData {
		dst = slices.Grow(dst, base64.StdEncoding.EncodedLen(n)+largeData)
	}
	dst = append(dst, '[')
	for _, b := range blocks {
		if b == nil {
			continue
		}
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		dst = appendBlock(dst, b)
	}
	return append(dst, ']')
}

// largeData is the size of data, in bytes, from which on room for all blocks is made at once: a buffer that grows is
// copied. As much is for what is beside the data.
const largeData = 64 << 10

// dataSize returns the bytes of data in blocks.
func dataSize(blocks []core.Block) (n int) {
	for _, b := range blocks {
		switch b := b.(type) {
		case core.Image:
			n += len(b.Data)
		case core.Audio:
			n += len(b.Data)
		case core.Resource:
			n += len(b.Blob)
		case core.Text, core.Link, core.Diff, core.Terminal:
		}
	}
	return n
}

// ParseBlocks parses the output of AppendBlocks.
func ParseBlocks(b []byte) ([]core.Block, error) {
	blocks, ok := parseBlocks(b)
	if !ok {
		return nil, fmt.Errorf("parse blocks: not a list of blocks")
	}
	return blocks, nil
}

func appendBlock(dst []byte, b core.Block) []byte {
	kind := ""
	switch b := b.(type) {
	case core.Image:
		dst = appendStringMember(append(dst, `{"type":"image"`...), "mime", b.MIME)
		dst = appendStringMember(appendDataMember(dst, "data", b.Data), "uri", b.URI)
		return append(dst, '}')
	case core.Audio:
		dst = appendStringMember(append(dst, `{"type":"audio"`...), "mime", b.MIME)
		return append(appendDataMember(dst, "data", b.Data), '}')
	case core.Resource:
		dst = jsonscan.AppendString(append(dst, `{"type":"resource","uri":`...), b.URI)
		dst = appendStringMember(appendStringMember(dst, "mime", b.MIME), "text", b.Text)
		dst = appendDataMember(dst, "blob", b.Blob)
		if b.Lines != [2]int{} {
			dst = strconv.AppendInt(append(appendKey(dst, "lines"), '['), int64(b.Lines[0]), 10)
			dst = append(strconv.AppendInt(append(dst, ','), int64(b.Lines[1]), 10), ']')
		}
		return append(dst, '}')
	case core.Text:
		dst = jsonscan.AppendString(append(dst, `{"type":"text","text":`...), b.Text)
		return append(dst, '}')
	case core.Diff:
		dst = jsonscan.AppendString(append(dst, `{"type":"diff","path":`...), b.Path)
		dst = appendStringMember(dst, "old", b.Old)
		dst = appendStringMember(dst, "new", b.New)
		dst = appendStringMember(dst, "patch", b.Patch)
		dst = appendIntMember(dst, "added", int64(b.Added))
		dst = appendIntMember(dst, "removed", int64(b.Removed))
		if b.Created {
			dst = append(appendKey(dst, "created"), "true"...)
		}
		dst = appendStringMember(dst, "from", b.From)
		dst = appendStringMember(dst, "sum", b.Sum)
		if b.Shown {
			dst = append(appendKey(dst, "shown"), "true"...)
		}
		return append(dst, '}')
	case core.Link:
		kind = blockLink
	case core.Terminal:
		kind = blockTerminal
	}
	dst = append(append(dst, `{"type":"`...), kind...)
	dst = append(dst, '"')
	if body, err := jsonscan.Append(nil, b); err == nil && len(body) > 2 { // strings and numbers: it cannot fail
		dst = append(append(dst, ','), body[1:len(body)-1]...)
	}
	return append(dst, '}')
}

func parseBlocks(b []byte) ([]core.Block, bool) {
	var blocks []core.Block
	e := elementsOf(b)
	for e.Next() {
		block, ok := parseBlock(e.Val)
		if !ok {
			return nil, false
		}
		blocks = append(blocks, block)
	}
	return blocks, !e.Bad
}

// parseBlock decodes one block; ok is false if it is not an object.
func parseBlock(raw []byte) (b core.Block, ok bool) {
	kind, text := "", []byte(nil)
	m := membersOf(raw)
	for m.Next() {
		switch string(m.Key) {
		case "type":
			if kind = blockText; string(m.Val) != `"text"` {
				kind = jsonscan.Text(m.Val)
			}
		case "text":
			text = m.Val
		}
	}
	if m.Bad {
		return nil, false
	}
	switch kind {
	case blockText:
		b, ok = core.Text{Text: jsonscan.Text(text)}, text == nil || jsonscan.IsString(text)
	case blockImage:
		b, ok = blockOf[core.Image](raw)
	case blockAudio:
		b, ok = blockOf[core.Audio](raw)
	case blockLink:
		b, ok = blockOf[core.Link](raw)
	case blockResource:
		b, ok = blockOf[core.Resource](raw)
	case blockDiff:
		b, ok = parseDiff(raw)
	case blockTerminal:
		b, ok = blockOf[core.Terminal](raw)
	}
	if !ok { // from a later version
		if !json.Valid(raw) {
			return nil, false
		}
		b = core.Resource{
			URI:  ForeignBlock + kind,
			MIME: "application/json",
			Text: strings.ToValidUTF8(string(raw), "\uFFFD"),
		}
	}
	return b, true
}

func parseDiff(raw []byte) (b core.Diff, ok bool) {
	m, ok := membersOf(raw), true
	for m.Next() {
		var text *string
		var number *int
		switch string(m.Key) {
		case "path":
			text = &b.Path
		case "old":
			text = &b.Old
		case "new":
			text = &b.New
		case "patch":
			text = &b.Patch
		case "from":
			text = &b.From
		case "sum":
			text = &b.Sum
		case "added":
			number = &b.Added
		case "removed":
			number = &b.Removed
		case "created":
			b.Created = string(m.Val) == "true"
		case "shown":
			b.Shown = string(m.Val) == "true"
		}
		switch {
		case text != nil:
			*text, ok = jsonscan.Text(m.Val), ok && jsonscan.IsString(m.Val)
		case number != nil:
			n, err := strconv.Atoi(string(m.Val))
			*number, ok = n, ok && err == nil
		}
	}
	return b, ok
}

func blockOf[T core.Block](raw []byte) (core.Block, bool) {
	var b T
	err := json.Unmarshal(raw, &b)
	return b, err == nil
}

// equalBlocks reports whether two blocks have the same content.
func equalBlocks(a, b core.Block) bool {
	switch a := a.(type) {
	case core.Image:
		b, ok := b.(core.Image)
		return ok && a.MIME == b.MIME && a.URI == b.URI && bytes.Equal(a.Data, b.Data)
	case core.Audio:
		b, ok := b.(core.Audio)
		return ok && a.MIME == b.MIME && bytes.Equal(a.Data, b.Data)
	case core.Resource:
		b, ok := b.(core.Resource)
		return ok && a.URI == b.URI && a.MIME == b.MIME && a.Text == b.Text &&
			a.Lines == b.Lines && bytes.Equal(a.Blob, b.Blob)
	case core.Text, core.Link, core.Diff, core.Terminal:
		return a == b
	}
	return a == nil && b == nil
}
