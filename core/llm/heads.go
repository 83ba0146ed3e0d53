package llm

import (
	"bytes"
	"slices"
	"sync"

	"dragoman/core/inference"
	"dragoman/core/jsonscan"
)

// maxHeads is the number of beginnings of requests that a provider keeps.
const maxHeads = 8

// objectText is an encoded object.
type objectText []byte

// heads keeps the beginnings of a provider's last requests: objects with the model and its tools. The tools are most of a small request, and
// they are the same for all sessions of an agent. It is safe for concurrent use.
type heads struct {
	mu   sync.Mutex // guards kept
	kept []keptHead // the last used one first
}

type keptHead struct {
	model string
	tools []inference.ToolSpec
	json  objectText
}

// of returns the beginning of a request, which encode makes if it is not kept.
func (h *heads) of(model string, tools []inference.ToolSpec, encode func() any) (objectText, error) {
	h.mu.Lock()
	i := slices.IndexFunc(h.kept, func(k keptHead) bool { return k.model == model && slices.EqualFunc(k.tools, tools, sameTool) })
	if i >= 0 {
		found := h.kept[i]
		copy(h.kept[1:i+1], h.kept[:i])
		h.kept[0] = found
		h.mu.Unlock()
		return found.json, nil
	}
	h.mu.Unlock()
	text, err := jsonscan.Append(nil, encode())
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = slices.Insert(h.kept[:min(len(h.kept), maxHeads-1)], 0, keptHead{model, tools, text})
	return text, nil
}

// sameTool compares by content, which takes almost no time if both are the same in memory.
func sameTool(a, b inference.ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
}
