package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"dragoman/core/display"
	"dragoman/core/inference"
)

const (
	offersTimeout  = 2 * time.Second // for the list; looking up the key does not count
	maxOffersBytes = 8 << 20
	maxOffers      = 1000
	maxModelName   = 200
	maxWindow      = 100_000_000 // tokens; a larger number is a mistake
)

// listPath returns the path of a kind's list of models below the base URL; "": it has none that is
// asked for.
func listPath(kind string) string {
	switch kind {
	case KindOpenAIChat, KindOpenAIResponses:
		return "models"
	case KindOllama:
		return "api/tags"
	}
	return ""
}

// Lists reports whether providers of a kind can be asked for their models.
func Lists(kind string) bool { return listPath(kind) != "" }

// Offers asks a provider once for the models that it offers, in OpenAI's or in Ollama's form. It
// returns at most maxOffers of those that answer in text. The service has offersTimeout. The error
// contains no part of the key.
func (r *Registry) Offers(ctx context.Context, name string) ([]inference.ModelInfo, error) {
	i := slices.IndexFunc(r.providers, func(p *provider) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no provider %q", name)
	}
	list, err := r.providers[i].offers(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its models: %w", name, err)
	}
	return list, nil
}

func (p *provider) offers(ctx context.Context) ([]inference.ModelInfo, error) {
	k, _ := kindOf(p.Kind)
	base, err := url.Parse(p.BaseURL)
	switch {
	case !Lists(p.Kind):
		return nil, fmt.Errorf("a provider of the kind %q has no list", p.Kind)
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("its base_url is no http URL")
	}
	cred, err := p.credentials(ctx)
	if err != nil {
		return nil, err
	}
	at := listURL(base, p.Kind)
	ctx, cancel := context.WithTimeout(ctx, offersTimeout)
	defer cancel()
	body, err := p.list(ctx, at, k.wire, cred)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v", offersTimeout)
	}
	if err != nil {
		where := url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}
		return nil, errors.New(where.String() + ": " + cred.redact(shorten(display.WithoutURL(err).Error(), maxMessage)))
	}
	return offersIn(p.Name, body)
}

// listURL returns the address of a service's list. base may be that of a method.
func listURL(base *url.URL, kind string) *url.URL {
	u := *base
	u.RawPath = ""
	ends := []string{"/chat/completions", "/responses"}
	if kind == KindOllama {
		ends = []string{"/api/chat", "/v1"}
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	for _, end := range ends {
		u.Path = strings.TrimSuffix(u.Path, end)
	}
	return u.JoinPath(listPath(kind))
}

// list returns the body of the service's answer.
func (p *provider) list(ctx context.Context, at *url.URL, w wire, cred credentials) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "dragoman")
	w.sign(req.Header, cred.key)
	req.Header.Set("Accept", "application/json")
	for name, value := range cred.headers {
		req.Header.Set(name, value)
	}
	resp, err := p.client().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOffersBytes+1))
	if err == nil && len(body) > maxOffersBytes {
		err = fmt.Errorf("the list is larger than %d MiB", maxOffersBytes>>20)
	}
	return body, err
}

// offersIn reads a list: {"data": […]} of OpenAI's form, {"models": […]} of Ollama's, or the list
// alone. An unreadable or unusable model is left out.
func offersIn(provider string, body []byte) ([]inference.ModelInfo, error) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) != nil {
		var in struct {
			Data, Models *[]json.RawMessage
		}
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, errors.New("the answer is no list of models in JSON")
		}
		switch {
		case in.Data != nil:
			list = *in.Data
		case in.Models != nil:
			list = *in.Models
		default:
			return nil, errors.New("the answer has no list of models")
		}
	}
	models, seen := []inference.ModelInfo{}, map[string]bool{}
	for _, raw := range list {
		var o offer
		if json.Unmarshal(raw, &o) != nil {
			continue
		}
		info, ok := o.info(provider)
		if !ok || seen[info.ID] {
			continue
		}
		seen[info.ID] = true
		if models = append(models, info); len(models) == maxOffers {
			break
		}
	}
	return models, nil
}

// offer is a model in a service's list. Services differ in the names and types of members.
type offer map[string]json.RawMessage

func (o offer) info(provider string) (info inference.ModelInfo, ok bool) {
	id := o.text("id", "model", "name")
	if id == "" || len(id) > maxModelName || strings.ContainsFunc(id, func(r rune) bool { return r == ' ' || display.Unseen(r) }) {
		return info, false
	}
	info = unknown
	info.ID = provider + "/" + id
	if name := o.text("display_name", "name"); name != "" {
		info.Name = display.Line(name, 100)
	}
	info.Window = o.number("max_model_len", "context_length", "context_window", "max_context_length")
	info.MaxOut = o.number("max_completion_tokens", "max_output_tokens")
	var can []string                            // Ollama's
	_ = json.Unmarshal(o["capabilities"], &can) //nolint:errcheck // others have another form, or none
	if slices.Contains(can, "completion") {
		info.Tools, info.Images = slices.Contains(can, "tools"), slices.Contains(can, "vision")
		info.Thinks = slices.Contains(can, "thinking")
	} else if slices.Contains(can, "embedding") {
		return info, false
	}
	return info, o.answers(id)
}

// answers reports whether a model answers in text, as far as its type and its name say.
func (o offer) answers(id string) bool {
	switch strings.ToLower(o.text("type")) {
	case "embedding", "embeddings", "image", "audio", "video", "transcribe", "rerank", "moderation":
		return false
	}
	id = strings.ToLower(id)
	return !strings.Contains(id, "embed") && !strings.Contains(id, "rerank")
}

// text returns the first of the members that is a text and not empty.
func (o offer) text(names ...string) string {
	for _, name := range names {
		var s string
		if json.Unmarshal(o[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// number returns the first of the members that is a plausible number of tokens.
func (o offer) number(names ...string) int {
	for _, name := range names {
		var n float64
		if json.Unmarshal(o[name], &n) == nil && n >= 1 && n <= maxWindow {
			return int(n)
		}
	}
	return 0
}
