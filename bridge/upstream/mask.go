package upstream

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"dragoman/adapters/wire"
	"dragoman/core/display"
)

// masks takes out of what servers say what they were given to keep: the values of
// their environment and of their headers, and the secret of a client.
type masks struct {
	mu sync.Mutex // guards the field below
	of map[string][]string
}

const (
	masked = "***"
	// minMasked is the shortest value that is taken out: shorter ones are words such as
	// "warn", unless their name says that they are secret.
	minMasked = 6
)

// learn notes what a server is given. What it was given before stays hidden too.
func (m *masks) learn(server string, e Endpoint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[string][]string{}
	}
	all := slices.Clone(m.of[server])
	add := func(name, value string) {
		if len(value) < minMasked && !(len(value) > 2 && display.SecretName(name)) {
			return
		}
		for _, form := range []string{value, url.QueryEscape(value), strings.Trim(string(wire.JSON(value)), `"`)} {
			if !slices.Contains(all, form) {
				all = append(all, form)
			}
		}
	}
	for name, value := range e.Env {
		add(name, value)
	}
	for name, value := range e.Headers {
		add(name, value)
		if _, key, ok := strings.Cut(value, " "); ok { // behind the scheme
			add(name, strings.TrimSpace(key))
		}
	}
	add("client_secret", e.OAuth.ClientSecret)
	// A longer one may hold a shorter one.
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	m.of[server] = all
}

// hide takes a server's secrets out of a text.
func (m *masks) hide(server, text string) string {
	m.mu.Lock()
	values := m.of[server] // it is replaced, never changed
	m.mu.Unlock()
	for _, v := range values {
		text = strings.ReplaceAll(text, v, masked)
	}
	return text
}
