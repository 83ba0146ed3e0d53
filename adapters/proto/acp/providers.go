package acp

// All of this is unstable.

// ProvidersResponse answers `providers/list`.
type ProvidersResponse struct {
	Providers []ProviderInfo `json:"providers"`
}

// ProviderInfo is one provider. Current is nil when it is disabled.
type ProviderInfo struct {
	ProviderID string          `json:"providerId"`
	Supported  []string        `json:"supported"`
	Required   bool            `json:"required"`
	Current    *ProviderConfig `json:"current,omitempty"`
}

// ProviderConfig holds the access to a provider; its headers are secret.
type ProviderConfig struct {
	APIType string `json:"apiType"`
	BaseURL string `json:"baseUrl"`
}

// SetProviderRequest holds the params of `providers/set`.
type SetProviderRequest struct {
	ProviderID string            `json:"providerId"`
	APIType    string            `json:"apiType"`
	BaseURL    string            `json:"baseUrl"`
	Headers    map[string]string `json:"headers"`
}

// DisableProviderRequest holds the params of `providers/disable`.
type DisableProviderRequest struct {
	ProviderID string `json:"providerId"`
}
