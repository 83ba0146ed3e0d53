// Package masks hides secrets in the output of servers.
package masks

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"dragoman/adapters/wire"
	"dragoman/core/display"
)

// Secrets are the values to hide in the output of one server: those of its environment and of its
// headers, and a client's secret.
type Secrets struct {
	Env, Headers map[string]string
	Client       string
}

// Masks removes secrets from the output of servers. The zero value knows none.
type Masks struct {
	mu sync.Mutex // guards the field below
	of map[string][]string
}

const (
	masked = "***"
	// minMasked is the length of the shortest value that is removed: shorter ones are words such
	// as "warn", unless their name marks them as secret.
	minMasked = 6
)

// Learn records a server's secrets. Earlier values stay hidden too.
func (m *Masks) Learn(server string, s Secrets) {
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
	for name, value := range s.Env {
		add(name, value)
	}
	for name, value := range s.Headers {
		add(name, value)
		if _, key, ok := strings.Cut(value, " "); ok { // after the scheme
			add(name, strings.TrimSpace(key))
		}
	}
	add("client_secret", s.Client)
	// A longer one may hold a shorter one.
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	m.of[server] = all
}

// Hide removes a server's secrets from a text.
func (m *Masks) Hide(server, text string) string {
	m.mu.Lock()
	values := m.of[server] // it is replaced, never modified
	m.mu.Unlock()
	for _, v := range values {
		text = strings.ReplaceAll(text, v, masked)
	}
	return text
}
