package display

import "testing"

func TestSecretName(t *testing.T) {
	for _, name := range []string{
		"password", "API_KEY", "apiKey", "APIKey", "x-api-key", "X-Auth-Token", "accessToken", "AUTH", "Authorization", "DB_PASS", "client_secret", "apikey", "GROQ_KEY", "privateKey", "ACCESSTOKEN", "credentials",
		"--api-key", "--token", "--auth", "GITHUB_TOKEN", "MY_KEY", "X-Api-Key", // of servers that somebody configures
		"X-Authentication", "my.password", "api key", "API_KEY_2", "TOKEN2", "env.KEY", "OAUTH_X",
	} {
		if !SecretName(name) {
			t.Errorf("%s is none", name)
		}
	}
	for _, name := range []string{"tokenizer", "keyboard", "passage", "key", "author", "authors", "monkey", "primary_key", "publicKey", "cache_key", "compass", "opinion", "spinner", "keyword", "keyPath", "passing", "--key-file", "x2", "2", "", "_"} {
		if SecretName(name) {
			t.Errorf("%s is one", name)
		}
	}
}
