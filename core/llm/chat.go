package llm

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"dragoman/core"
)

// chatWire is OpenAI's chat completions API, which most services speak.
// https://platform.openai.com/docs/api-reference/chat
type chatWire struct{}

func (chatWire) endpoint(base *url.URL) *url.URL {
	if strings.HasSuffix(base.Path, "/chat/completions") {
		return base
	}
	return base.JoinPath("chat", "completions")
}

func (chatWire) sign(h http.Header, key string) { bearer(h, key) }

func (chatWire) frames(src io.Reader) frames { return newEventReader(src) }

func (chatWire) listen(a *answer) listener { return &chatAnswer{answer: a} }

// adapt leaves stream_options out from now on where they were refused.
func (chatWire) adapt(m *remote, err error) bool {
	if m.quirks().noStreamOptions || !refusesStreamOptions(err) {
		return false
	}
	return m.p.noStreamOptions.CompareAndSwap(false, true)
}

// bearer is how most services want their key.
func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// quirk is what a service does otherwise than most.
type quirk struct {
	noStreamOptions bool // refuses stream_options; sends the usage unasked
	completionLimit bool // wants max_completion_tokens
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

// refusesStreamOptions reports whether a service has refused the request for
// that field.
func refusesStreamOptions(err error) bool {
	var e *core.ModelError
	return errors.As(err, &e) && e.Kind == core.ErrBadRequest && strings.Contains(e.Message, "stream_options")
}
