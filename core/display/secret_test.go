package display

import "testing"

func TestSecretName(t *testing.T) {
	for _, name := range []string{"password", "API_KEY", "apiKey", "APIKey", "x-api-key", "X-Auth-Token", "accessToken", "AUTH", "Authorization", "DB_PASS", "client_secret", "apikey", "GROQ_KEY", "privateKey", "ACCESSTOKEN", "credentials"} {
		if !SecretName(name) {
			t.Errorf("%s is none", name)
		}
	}
	for _, name := range []string{"tokenizer", "keyboard", "passage", "key", "author", "authors", "monkey", "primary_key", "publicKey", "cache_key", "compass", "opinion", "spinner", "keyword", "keyPath", "passing", "", "_"} {
		if SecretName(name) {
			t.Errorf("%s is one", name)
		}
	}
}
