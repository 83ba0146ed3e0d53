package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The words for the types of blocks, as they are stored. They never change.
const (
	blockText     = "text"
	blockImage    = "image"
	blockAudio    = "audio"
	blockLink     = "link"
	blockResource = "resource"
	blockDiff     = "diff"
)

// ForeignBlock is the URI scheme of a block that a later version of the gateway
// wrote. It is read as a Resource, dragoman-block:TYPE, whose text is the
// block's JSON: so every reader can show it, and nothing of it is lost.
const ForeignBlock = "dragoman-block:"

// AppendBlocks appends blocks to dst as a JSON array in one line. Each is an
// object with its type; a nil Block is left out.
func AppendBlocks(dst []byte, blocks []Block) []byte {
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

// ParseBlocks reads what AppendBlocks wrote.
func ParseBlocks(b []byte) ([]Block, error) {
	blocks, ok := parseBlocks(b)
	if !ok {
		return nil, fmt.Errorf("parse blocks: not a list of blocks")
	}
	return blocks, nil
}

func appendBlock(dst []byte, b Block) []byte {
	kind := ""
	switch b := b.(type) {
	case Text:
		dst = appendString(append(dst, `{"type":"text","text":`...), b.Text)
		return append(dst, '}')
	case Diff:
		dst = appendString(append(dst, `{"type":"diff","path":`...), b.Path)
		dst = appendStringMember(dst, "old", b.Old)
		dst = appendStringMember(dst, "new", b.New)
		dst = appendStringMember(dst, "patch", b.Patch)
		dst = appendIntMember(dst, "added", int64(b.Added))
		dst = appendIntMember(dst, "removed", int64(b.Removed))
		if b.Created {
			dst = append(appendKey(dst, "created"), "true"...)
		}
		return append(dst, '}')
	case Image:
		kind = blockImage
	case Audio:
		kind = blockAudio
	case Link:
		kind = blockLink
	case Resource:
		kind = blockResource
	}
	dst = append(append(dst, `{"type":"`...), kind...)
	dst = append(dst, '"')
	if body, err := jsonFor(b); err == nil && len(body) > 2 { // strings and numbers: it cannot fail
		dst = append(append(dst, ','), body[1:len(body)-1]...)
	}
	return append(dst, '}')
}

func parseBlocks(b []byte) ([]Block, bool) {
	var raws []json.RawMessage
	if json.Unmarshal(b, &raws) != nil {
		return nil, false
	}
	var blocks []Block
	for _, raw := range raws {
		block, ok := parseBlock(raw)
		if !ok {
			return nil, false
		}
		blocks = append(blocks, block)
	}
	return blocks, true
}

// parseBlock decodes one block. false: it is not an object.
func parseBlock(raw []byte) (b Block, ok bool) {
	kind := ""
	m := membersOf(raw)
	for m.next() {
		if string(m.key) == "type" {
			kind = parseString(m.val)
		}
	}
	if m.bad {
		return nil, false
	}
	switch kind {
	case blockText:
		b, ok = blockOf[Text](raw)
	case blockImage:
		b, ok = blockOf[Image](raw)
	case blockAudio:
		b, ok = blockOf[Audio](raw)
	case blockLink:
		b, ok = blockOf[Link](raw)
	case blockResource:
		b, ok = blockOf[Resource](raw)
	case blockDiff:
		b, ok = blockOf[Diff](raw)
	}
	if !ok { // a later version's
		b = Resource{URI: ForeignBlock + kind, MIME: "application/json", Text: strings.ToValidUTF8(string(raw), "\uFFFD")}
	}
	return b, true
}

func blockOf[T Block](raw []byte) (Block, bool) {
	var b T
	err := json.Unmarshal(raw, &b)
	return b, err == nil
}

// equalBlocks reports whether two blocks say the same.
func equalBlocks(a, b Block) bool {
	switch a := a.(type) {
	case Image:
		b, ok := b.(Image)
		return ok && a.MIME == b.MIME && a.URI == b.URI && bytes.Equal(a.Data, b.Data)
	case Audio:
		b, ok := b.(Audio)
		return ok && a.MIME == b.MIME && bytes.Equal(a.Data, b.Data)
	case Resource:
		b, ok := b.(Resource)
		return ok && a.URI == b.URI && a.MIME == b.MIME && a.Text == b.Text && a.Lines == b.Lines && bytes.Equal(a.Blob, b.Blob)
	case Text, Link, Diff:
		return a == b
	}
	return a == nil && b == nil
}
