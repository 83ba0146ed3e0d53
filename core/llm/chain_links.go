package llm

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/cloudflare"
	"github.com/tmc/langchaingo/llms/ernie"
	"github.com/tmc/langchaingo/llms/huggingface"
	"github.com/tmc/langchaingo/llms/maritaca"

	"dragoman/core/inference"
)

// KindChain is the prefix of the kinds behind langchaingo, as in langchain/ernie.
const KindChain = "langchain/"

// links are the services that are reached through langchaingo. It has no services with
// a format of ours (OpenAI, Anthropic, Ollama, Gemini, Mistral, llamafile, Cohere, and
// Bedrock at …/openai/v1, which accepts tools as well and saves 5 MB of AWS's libraries),
// and not watsonx, whose calls cannot be cancelled.
func links() map[string]link {
	return map[string]link{
		"cloudflare":  {open: openCloudflare},
		"ernie":       {open: openErnie, flat: true, fixed: true},
		"huggingface": {open: openHuggingFace, flat: true},
		"maritaca":    {open: openMaritaca, fixed: true},
	}
}

// chainKinds returns the kinds of all links, by name.
func chainKinds() []kind {
	var list []kind
	for _, name := range slices.Sorted(maps.Keys(links())) {
		list = append(list, kind{name: KindChain + name, open: links()[name].model})
	}
	return list
}

// model returns a model of a provider behind langchaingo. The default base URL is the
// library's own.
func (l link) model(_ *Registry, p *provider, model string) (inference.Model, error) {
	if p.BaseURL == "" {
		return newChain(p, nil, model, l), nil
	}
	if l.fixed {
		return nil, fmt.Errorf(
			"model %q: base_url of provider %q: the kind %s has a fixed address; remove the setting",
			p.Name+"/"+model,
			p.Name,
			p.Kind,
		)
	}
	u, err := url.Parse(p.BaseURL)
	if err != nil || u.Host == "" {
		return nil, p.badURL(model)
	}
	return newChain(p, u, model, l), nil
}

// openCloudflare requires the option account_id.
func openCloudflare(_ context.Context, s chainSettings) (llms.Model, error) {
	o := []cloudflare.Option{
		cloudflare.WithToken(s.key), cloudflare.WithModel(s.model),
		cloudflare.WithAccountID(s.options["account_id"]), cloudflare.WithHTTPClient(s.client),
	}
	if s.base != "" {
		o = append(o, cloudflare.WithServerURL(s.base))
	}
	return cloudflare.New(o...)
}

// openErnie requires the option secret_key in addition to the key.
func openErnie(_ context.Context, s chainSettings) (llms.Model, error) {
	o := []ernie.Option{ernie.WithModel(s.model), ernie.WithHTTPClient(s.client)}
	if secret := s.options["secret_key"]; secret != "" {
		o = append(o, ernie.WithAKSK(s.key, secret))
	} else {
		o = append(o, ernie.WithAccessToken(s.key))
	}
	return ernie.New(o...)
}

// openHuggingFace accepts the option inference_provider.
func openHuggingFace(_ context.Context, s chainSettings) (llms.Model, error) {
	o := []huggingface.Option{
		huggingface.WithToken(s.key),
		huggingface.WithModel(s.model),
		huggingface.WithHTTPClient(s.client),
	}
	if s.base != "" {
		o = append(o, huggingface.WithURL(s.base))
	}
	if p := s.options["inference_provider"]; p != "" {
		o = append(o, huggingface.WithInferenceProvider(p))
	}
	return huggingface.New(o...)
}

func openMaritaca(_ context.Context, s chainSettings) (llms.Model, error) {
	return maritaca.New(maritaca.WithToken(s.key), maritaca.WithModel(s.model), maritaca.WithHTTPClient(s.client))
}
