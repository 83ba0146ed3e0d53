package llm

import (
	"errors"
	"strings"
	"sync"

	"dragoman/core/inference"
)

// A trait is a feature of a request that not every service or model accepts. When one
// is refused, the request is sent again in another form, and all later requests have
// that form.
type trait string

const (
	traitStreamOptions trait = "stream_options"
	traitMaxTokens     trait = "max_tokens"     // else max_completion_tokens
	traitEffort        trait = "effort"         // the effort of thinking
	traitSummary       trait = "summary"        // of OpenAI's reasoning, which some accounts may not see
	traitEncrypted     trait = "encrypted"      // OpenAI's reasoning, to be sent back
	traitBudget        trait = "budget"         // Anthropic's tokens for thinking; else the model decides
	traitThinking      trait = "thinking"       // any thinking
	traitThinkLevel    trait = "thinking level" // Ollama's; else only on or off
	traitUnsigned      trait = "unsigned calls" // calls of other models; else with Gemini's mark for them
)

// refusal recognizes a complaint about a trait: it contains one of the first texts, in
// lower case, and all of the others.
type refusal struct {
	of  trait
	any []string
	all []string
}

// maxTraits limits the refusals that are remembered for a provider's models.
const maxTraits = 256

// traits are the features that models of a provider do not accept.
type traits struct {
	mu      sync.Mutex // guards the fields below
	refused map[[2]string]bool
}

func (t *traits) has(model string, of trait) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.refused[[2]string{model, string(of)}]
}

// drop records that a model does not accept a trait; false: that was known.
func (t *traits) drop(model string, of trait) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := [2]string{model, string(of)}
	if t.refused[k] || len(t.refused) >= maxTraits {
		return false
	}
	if t.refused == nil {
		t.refused = map[[2]string]bool{}
	}
	t.refused[k] = true
	return true
}

// takes reports whether the model accepts a trait, as far as known.
func (m *remote) takes(of trait) bool { return m.p.traits.has(m.model, of) }

// gives finds the first trait that was sent and that the service has refused, and
// drops it. It reports whether there is one.
func (m *remote) gives(err error, sent func(trait) bool, list ...refusal) bool {
	var e *inference.Error
	if !errors.As(err, &e) || e.Kind != inference.ErrBadRequest {
		return false
	}
	said := strings.ToLower(e.Message)
	for _, r := range list {
		if sent(r.of) && m.takes(r.of) && matches(said, r) && m.p.traits.drop(m.model, r.of) {
			return true
		}
	}
	return false
}

func matches(said string, r refusal) bool {
	for _, s := range r.all {
		if !strings.Contains(said, s) {
			return false
		}
	}
	for _, s := range r.any {
		if strings.Contains(said, s) {
			return true
		}
	}
	return len(r.any) == 0
}
