package llm

import (
	"errors"
	"strings"
	"sync"

	"dragoman/core/inference"
)

// A trait is something of a request that not every service or model takes. What is
// refused for it is sent once more in another way, and so is every later request.
type trait string

const (
	traitStreamOptions trait = "stream_options"
	traitMaxTokens     trait = "max_tokens"     // else max_completion_tokens
	traitEffort        trait = "effort"         // how long to think
	traitSummary       trait = "summary"        // of OpenAI's reasoning, which not every account may see
	traitEncrypted     trait = "encrypted"      // OpenAI's reasoning, to be sent back
	traitBudget        trait = "budget"         // Anthropic's tokens for thinking; else the model decides
	traitThinking      trait = "thinking"       // of any kind
	traitThinkLevel    trait = "thinking level" // Ollama's; else only whether
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

// traits are those that models of a provider do not take.
type traits struct {
	mu      sync.Mutex // guards the fields below
	refused map[[2]string]bool
}

func (t *traits) has(model string, of trait) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.refused[[2]string{model, string(of)}]
}

// drop remembers that a model does not take a trait; false: that was known.
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

// takes reports whether the model takes a trait, as far as is known.
func (m *remote) takes(of trait) bool { return m.p.traits.has(m.model, of) }

// gives looks for the first trait of a request that its service has refused and that
// was sent, and gives it up. It reports whether there is one.
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
