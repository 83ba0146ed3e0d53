package inference

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"dragoman/core"
)

// The services of models refuse whole requests because of one part of them, such as a picture that is too
// small. A part that can be refused has a key, which depends on its content alone: so a part that was refused
// is known again after a restart, in a copy of the session and beside other parts.

// Keys of all parts of a kind, for a model that accepts none.
const (
	AllPictures = picturePrefix + "*"
	AllTools    = toolPrefix + "*"
)

const (
	picturePrefix = "picture:"
	thoughtPrefix = "thought:"
	toolPrefix    = "tool:"
)

// PictureKey returns the key of a picture; "": the block is not a picture with content or an address.
func PictureKey(b core.Block) string {
	switch b := b.(type) {
	case core.Image:
		if len(b.Data) > 0 {
			return picturePrefix + sumOf(b.Data)
		}
		for _, scheme := range []string{"https://", "http://", "data:"} {
			if strings.HasPrefix(b.URI, scheme) {
				return picturePrefix + sumOf([]byte(b.URI))
			}
		}
	case core.Resource:
		if len(b.Blob) > 0 && strings.HasPrefix(b.MIME, "image/") {
			return picturePrefix + sumOf(b.Blob)
		}
	case core.Text, core.Audio, core.Link, core.Diff, core.Terminal:
	}
	return ""
}

// ThoughtKey returns the key of a thought; "": its provider does not want it back.
func ThoughtKey(t Thought) string {
	if t.Sealed == nil {
		return ""
	}
	return thoughtPrefix + sumOf(t.Sealed)
}

// ToolKey returns the key of a tool, by its name in requests.
func ToolKey(name string) string { return toolPrefix + name }

// ToolOf returns the name of the tool with this key.
func ToolOf(key string) (name string, ok bool) { return strings.CutPrefix(key, toolPrefix) }

// sumOf returns a part of a checksum that is long enough for the parts of a session.
func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// Without returns the request without the parts that have these keys. A picture leaves a note in its place.
// The request itself stays unchanged, and is returned if it has none of the parts.
func (r *Request) Without(keys []string) *Request {
	if len(keys) == 0 {
		return r
	}
	gone := make(map[string]bool, len(keys))
	for _, k := range keys {
		gone[k] = true
	}
	out := *r
	out.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t ToolSpec) bool { return gone[AllTools] || gone[ToolKey(t.Name)] })
	out.Messages = r.Messages
	for i := range r.Messages {
		m := r.Messages[i]
		if !m.leave(gone) {
			continue
		}
		if &out.Messages[0] == &r.Messages[0] {
			out.Messages = slices.Clone(r.Messages)
		}
		out.Messages[i] = m
	}
	if len(out.Tools) == len(r.Tools) && (len(r.Messages) == 0 || &out.Messages[0] == &r.Messages[0]) {
		return r
	}
	return &out
}

// leave removes parts of a message, and reports whether there were any. Lists of the message are replaced, not
// changed.
func (m *Message) leave(gone map[string]bool) bool {
	thoughts := slices.DeleteFunc(slices.Clone(m.Thoughts), func(t Thought) bool {
		k := ThoughtKey(t)
		return k != "" && gone[k]
	})
	changed := len(thoughts) != len(m.Thoughts)
	if changed {
		m.Thoughts = thoughts
	}
	for _, list := range []*[]core.Block{&m.Blocks, &m.Result.Blocks} {
		old := *list
		for i, b := range old {
			k := PictureKey(b)
			if k == "" || !gone[AllPictures] && !gone[k] {
				continue
			}
			if &(*list)[0] == &old[0] {
				*list = slices.Clone(old)
			}
			(*list)[i] = core.Text{Text: "(There was a picture here. It is left out, because the service of this model refused it.)"}
			changed = true
		}
	}
	return changed
}
