package llm

import (
	"context"
	"maps"
	"strings"

	"dragoman/core/inference"
)

// credentials authorize a request. No part of them reaches an error, a log or a
// recording.
type credentials struct {
	key     string
	headers map[string]string
}

// credentials looks up the provider's key and headers. It is called for each request
// and may run a program, which is stopped when ctx ends.
func (p *provider) credentials(ctx context.Context) (c credentials, err error) {
	c.headers = p.Headers
	if p.Key != nil {
		key, err := p.Key(ctx)
		if err != nil {
			return c, err
		}
		c.key = strings.TrimSpace(key)
	}
	if p.LateHeaders != nil {
		late, err := p.LateHeaders(ctx)
		if err != nil {
			return c, err
		}
		c.headers = maps.Clone(p.Headers)
		if c.headers == nil {
			c.headers = map[string]string{}
		}
		maps.Copy(c.headers, late)
	}
	return c, nil
}

// credentials returns those of the model's provider. The error is the context's if
// that has ended.
func (m *remote) credentials(ctx context.Context) (credentials, error) {
	c, err := m.p.credentials(ctx)
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		return c, ctx.Err()
	}
	return c, &inference.Error{
		Kind: inference.ErrAuth, Model: m.info.ID,
		Message: err.Error(), Err: err,
	}
}

// redact removes the key and the values of the configured headers from a text.
func (c credentials) redact(s string) string {
	if len(c.key) >= 4 {
		s = strings.ReplaceAll(s, c.key, "[key]")
	}
	for name, value := range c.headers {
		if len(value) >= 8 {
			s = strings.ReplaceAll(s, value, "["+name+"]")
		}
	}
	return s
}
