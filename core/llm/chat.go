package llm

import (
	"io"
	"net/http"
	"net/url"
	"slices"

	"dragoman/core/inference"
)

// chatWire is OpenAI's chat completions API, which most services offer.
// https://platform.openai.com/docs/api-reference/chat
type chatWire struct{}

func (chatWire) endpoint(base *url.URL) *url.URL { return below(base, "chat/completions") }

func (chatWire) sign(h http.Header, key string) { bearer(h, key) }

func (chatWire) frames(src io.Reader) frames { return newEvents(src) }

func (chatWire) listen(a *answer) listener { return &chatAnswer{answer: a} }

// adapt implements wire.
func (chatWire) adapt(m *remote, r *inference.Request, err error) bool {
	q := m.quirks()
	sent := map[trait]bool{
		traitStreamOptions: !q.noStreamOptions,
		traitMaxTokens:     r.MaxOut > 0 && !q.completionLimit,
		traitEffort:        r.Effort != "",
		traitUnsigned:      slices.ContainsFunc(r.Messages, func(m inference.Message) bool { return len(m.Calls) > 0 }),
	}
	return m.gives(err, func(t trait) bool { return sent[t] },
		refusal{of: traitStreamOptions, any: []string{"stream_options"}},
		refusal{of: traitMaxTokens, any: []string{"max_completion_tokens"}},
		refusal{of: traitEffort, any: []string{"reasoning_effort", "reasoning effort"}},
		refusal{of: traitUnsigned, any: []string{"missing a thought_signature", "missing a `thought_signature`"}})
}

// bearer sets the key in the usual header.
func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// quirk describes how a service differs from most others.
type quirk struct {
	noStreamOptions bool // refuses stream_options; sends the usage by default
	completionLimit bool // requires max_completion_tokens
	cacheKey        bool // routes by prompt_cache_key
}

func (m *remote) quirks() quirk {
	switch host := m.base.Hostname(); {
	case host == "api.openai.com":
		return quirk{completionLimit: true, cacheKey: true}
	case host == "api.mistral.ai":
		return quirk{noStreamOptions: true}
	}
	return quirk{}
}
