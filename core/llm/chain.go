package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/tmc/langchaingo/llms"

	"dragoman/core"
	"dragoman/core/inference"
)

// chain is a model behind langchaingo, for services with formats of their own that few
// people use. It uses the library only for text in and text out: no tools, no
// pictures, no thoughts, and the answer arrives in one piece. The library can stream,
// but cannot distinguish a stream that broke off from one that ended.
type chain struct {
	p     *provider
	base  string
	model string
	info  inference.ModelInfo
	link  link
}

var _ inference.Model = (*chain)(nil)

// link connects to one service through the library.
type link struct {
	// open makes the library's model.
	open func(ctx context.Context, s chainSettings) (llms.Model, error)
	// flat means that the library sends the first text of a request and drops the
	// rest: then the whole conversation is put into that text.
	flat bool
	// fixed means that the library uses an address of its own and ignores the
	// configured one.
	fixed bool
}

// chainSettings are the settings of a link.
type chainSettings struct {
	model, key, base string
	options          map[string]string
	client           *http.Client
}

func newChain(p *provider, base *url.URL, model string, l link) *chain {
	m := &chain{p: p, model: model, info: p.info(model), link: l}
	if base != nil {
		m.base = base.String()
	}
	return m
}

// Info describes the model, with the abilities that the library supports.
func (m *chain) Info() inference.ModelInfo { return m.info }

// Stream asks the model, again after a temporary failure, and yields its answer as one
// piece.
func (m *chain) Stream(ctx context.Context, r *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		a := &answer{
			model:   m.info.ID,
			price:   m.info.Price,
			request: r,
			yield:   yield,
			stop:    core.StopEnd,
			finish:  "stop",
			whole:   true,
		}
		err := m.stream(ctx, r, a)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil && !a.gone && !a.done {
			yield(inference.Delta{}, err)
		}
	}
}

func (m *chain) stream(ctx context.Context, r *inference.Request, a *answer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cred, err := m.p.credentials(ctx)
	if err != nil {
		return m.failed(err, cred, &statusRecorder{})
	}
	once := func() (again bool, err error) {
		seen := &statusRecorder{inner: m.p.client().Transport}
		res, sent, err := m.ask(ctx, r, cred.key, seen)
		if seen.header != nil {
			m.p.gate.heed(m.model, seen.header, seen.status)
		}
		if err != nil {
			e := m.failed(err, cred, seen)
			return e.Retryable(), e
		}
		a.sent = sent
		for _, c := range res.Choices {
			a.text(c.Content)
			if c.StopReason == "length" || c.StopReason == "max_tokens" {
				a.stop = core.StopTokens
			}
		}
		return false, a.complete(ctx)
	}
	return m.p.tries(ctx, m.model, a, once, func(error) bool { return false })
}

// ask calls the library and turns its panics into errors. sent counts characters.
func (m *chain) ask(
	ctx context.Context, r *inference.Request, key string, seen *statusRecorder,
) (res *llms.ContentResponse, sent int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error of the library: %v", p)
		}
	}()
	if key == "" {
		return nil, 0, errNoKey
	}
	model, err := m.link.open(ctx, chainSettings{
		m.model,
		key,
		m.base,
		m.p.Options,
		&http.Client{Transport: seen, CheckRedirect: m.p.client().CheckRedirect},
	})
	if err != nil {
		return nil, 0, err
	}
	messages, sent := m.messages(r)
	options := []llms.CallOption{llms.WithModel(m.model)}
	if out := max(r.MaxOut, 0); out > 0 {
		options = append(options, llms.WithMaxTokens(out))
	}
	res, err = model.GenerateContent(ctx, messages, options...)
	if err == nil && (res == nil || len(res.Choices) == 0) {
		err = errNoEnd
	}
	return res, sent, err
}

var errNoKey = errors.New("no key was sent")

// messages converts a history to text: one text for each message, or one in all.
func (m *chain) messages(r *inference.Request) (list []llms.MessageContent, sent int) {
	add := func(role llms.ChatMessageType, text string) {
		if text == "" {
			return
		}
		sent += len(text)
		if n := len(list); n > 0 && list[n-1].Role == role {
			part, _ := list[n-1].Parts[0].(llms.TextContent)
			list[n-1].Parts[0] = llms.TextContent{Text: part.Text + "\n\n" + text}
			return
		}
		list = append(list, llms.TextParts(role, text))
	}
	add(llms.ChatMessageTypeSystem, r.System)
	for i := range r.Messages {
		msg := &r.Messages[i]
		switch msg.Role {
		case inference.RoleUser:
			add(llms.ChatMessageTypeHuman, spelled(msg.Blocks))
		case inference.RoleAssistant:
			add(llms.ChatMessageTypeAI, msg.Text)
		case inference.RoleTool: // from another model's turn: this one has no tools
			add(
				llms.ChatMessageTypeHuman,
				"The tool "+msg.Result.Name+" returned:\n"+spelled(resultBlocks(&msg.Result)),
			)
		}
	}
	if !m.link.flat {
		return list, sent
	}
	var b strings.Builder
	names := map[llms.ChatMessageType]string{
		llms.ChatMessageTypeHuman: "User: ",
		llms.ChatMessageTypeAI:    "Assistant: ",
	}
	for _, one := range list {
		part, _ := one.Parts[0].(llms.TextContent)
		b.WriteString(names[one.Role] + part.Text + "\n\n")
	}
	b.WriteString("Assistant:")
	return []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, b.String())}, b.Len()
}

// spelled returns content as text.
func spelled(blocks []core.Block) string {
	var parts []string
	for _, b := range blocks {
		if p := blockPart(b); p.ImageURL == nil && p.Text != "" {
			parts = append(parts, p.Text)
		} else if p.ImageURL != nil {
			parts = append(parts, "(A picture that is not included.)")
		}
	}
	return strings.Join(parts, "\n")
}

// statusRecorder keeps the status and the headers of the last answer, which the
// library drops.
type statusRecorder struct {
	inner  http.RoundTripper
	status int
	header http.Header
}

// RoundTrip implements http.RoundTripper.
func (s *statusRecorder) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.inner.RoundTrip(r)
	if err == nil {
		s.status, s.header = resp.StatusCode, resp.Header
	}
	return resp, err
}

// statusIn finds a status in an error of the library, if none was recorded.
var statusIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)status(?: code)?:? *([45]\d\d)`) })

// failed classifies an error of the library.
func (m *chain) failed(err error, cred credentials, seen *statusRecorder) *inference.Error {
	r := &remote{p: m.p, base: &url.URL{}, model: m.model, info: m.info}
	lost := (*url.Error)(nil)
	switch {
	case errors.Is(err, errNoEnd) || errors.Is(err, io.ErrUnexpectedEOF) ||
		strings.Contains(err.Error(), "unexpected end of JSON input"):
		return r.failure(inference.ErrTruncated, errNoEnd.Error(), nil)
	case seen.header == nil && errors.As(err, &lost):
		return r.failure(inference.ErrNetwork, cred.redact(shorten(lost.Err.Error(), maxMessage)), nil)
	}
	status := seen.status
	if found := statusIn().FindStringSubmatch(err.Error()); status < 400 && found != nil {
		status, _ = strconv.Atoi(found[1]) //nolint:errcheck // three digits
	}
	if errors.Is(err, errNoKey) {
		status = http.StatusUnauthorized
	}
	if status < 400 {
		return r.failure(inference.ErrServer, cred.redact(shorten(err.Error(), maxMessage)), nil)
	}
	e, _ := r.complained(complaint{message: err.Error()}, status, cred)
	if seen.header != nil {
		e.RequestID, e.RetryAfter = requestID(seen.header), retryAfter(seen.header, status)
		e.Hint = untilWhen(e)
	}
	return e
}
