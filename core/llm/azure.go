package llm

import "net/http"

// KindAzure is the kind of Azure OpenAI.
const KindAzure = "azure"

// azureWire is the chat completions API of Azure OpenAI: OpenAI's, with a header of its own for
// the key. base_url is RESOURCE/openai/v1, or the older
// RESOURCE/openai/deployments/DEPLOYMENT?api-version=DATE, and a model's name is that of its
// deployment. https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
type azureWire struct{ chatWire }

func (azureWire) sign(h http.Header, key string) {
	if key != "" {
		h.Set("api-key", key)
	}
}
