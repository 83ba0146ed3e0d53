package llm

import (
	"cmp"
	"net/url"
	"strings"

	"dragoman/core/inference"
)

// KindCohere is the kind of Cohere. Its name is from when it was reached through
// langchaingo, which speaks an API that Cohere has retired, and loads a tokenizer
// whenever the program starts.
const KindCohere = KindChain + "cohere"

// openCohere opens a model at Cohere's endpoint for OpenAI's chat completions. A base URL
// without a path is that of the service, as it was with the retired API.
// https://docs.cohere.com/docs/compatibility-api
func openCohere(_ *Registry, p *provider, model string) (inference.Model, error) {
	u, err := url.Parse(cmp.Or(p.BaseURL, "https://api.cohere.ai"))
	if err != nil || u.Host == "" {
		return nil, p.badURL(model)
	}
	if strings.Trim(u.Path, "/") == "" {
		u = u.JoinPath("compatibility", "v1")
	}
	return newRemote(p, u, model, chatWire{}), nil
}
