package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dragoman/core/inference"
)

const (
	maxTries  = 4
	maxWait   = 60 * time.Second // the longest wait at a service's request; beyond it the user decides
	firstWait = 500 * time.Millisecond
	longWait  = 8 * time.Second
)

// remote is a model that is reached over the network, in a wire format.
type remote struct {
	p     *provider
	base  *url.URL
	model string
	info  inference.ModelInfo
	wire  wire
	// family has the rules for tools.
	family *toolFamily
}

var _ inference.Model = (*remote)(nil)

func newRemote(p *provider, base *url.URL, model string, w wire) *remote {
	m := &remote{p: p, base: base, model: model, info: p.info(model), wire: w}
	m.family = familyOf(m)
	m.info.MaxTools = m.family.most
	return m
}

// wire is a wire format: the encoding of requests and the decoding of answers. It has
// no state.
type wire interface {
	// endpoint returns the URL for requests.
	endpoint(base *url.URL) *url.URL
	// sign sets the key and other required headers of a request.
	sign(h http.Header, key string)
	// encode makes a request's body.
	encode(m *remote, r *inference.Request) (payload, error)
	// adapt reports whether a refused request is sent in another form from now on.
	adapt(m *remote, r *inference.Request, err error) bool
	// frames splits a stream into events.
	frames(src io.Reader) frames
	// listen returns the listener for one answer.
	listen(a *answer) listener
}

// below returns the address of a service's method; base may already be it.
func below(base *url.URL, method string) *url.URL {
	if strings.HasSuffix(base.Path, "/"+method) {
		return base
	}
	return base.JoinPath(method)
}

// listener processes the events of one answer. It records the end in the answer's
// finish and whole. The error is one that the service has reported, or an unreadable
// event.
type listener interface {
	event(name string, data []byte) error
}

// Info describes the model as configured.
func (m *remote) Info() inference.ModelInfo { return m.info }

// Stream asks the model and yields its answer. Errors are of type *inference.Error,
// except for the end of ctx, which is ctx.Err().
func (m *remote) Stream(ctx context.Context, r *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		a := &answer{model: m.info.ID, price: m.info.Price, request: r, remote: m, yield: yield, gathers: true}
		if err := m.stream(ctx, r, a); err != nil && !a.gone {
			yield(inference.Delta{}, err)
		}
	}
}

// stream makes as many requests as necessary and allowed.
func (m *remote) stream(ctx context.Context, r *inference.Request, a *answer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cred, err := m.credentials(ctx)
	if err != nil {
		return err
	}
	l := &leaver{m: m, r: r.Without(r.Refused[m.info.ID])}
	once := func() (again bool, err error) {
		a.refused, a.why = l.left, l.why
		body, err := m.wire.encode(m, l.r)
		if err != nil {
			return false, m.failure(inference.ErrBadRequest, "the request could not be encoded", err)
		}
		a.sent = body.chars
		return m.try(ctx, cred, body, a)
	}
	return m.p.tries(ctx, m.model, a, once, func(err error) bool { return m.wire.adapt(m, l.r, err) || l.leave(err) })
}

// tries makes as many tries as necessary and allowed. This is the only function that
// repeats requests. once sends the request and yields the answer; its result again
// reports whether another try may succeed. adapts reports whether the next request is
// a different one.
func (p *provider) tries(
	ctx context.Context,
	model string,
	a *answer,
	once func() (again bool, err error),
	adapts func(error) bool,
) error {
	for try := 1; ; {
		leave, err := p.gate.enter(ctx, model, a.waits)
		if err != nil {
			return err
		}
		again, err := once()
		leave()
		if a.gone || err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if a.begun {
			return err
		}
		if adapts(err) {
			continue
		}
		wait := pause(err, try)
		if !again || try == maxTries || wait > maxWait {
			return err
		}
		if !a.emit(inference.Delta{Kind: inference.DeltaRetry, After: wait, Attempt: try}) {
			return nil
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		try++
	}
}

// try sends the request once and yields the answer. again reports whether another try
// may succeed.
func (m *remote) try(ctx context.Context, cred credentials, body payload, a *answer) (again bool, err error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := m.newRequest(inner, cred, &body)
	if err != nil {
		return false, m.failure(inference.ErrBadRequest, "the request could not be made", err)
	}
	resp, err := m.p.client().Do(req)
	if err != nil {
		return m.unreachable(err)
	}
	defer resp.Body.Close()
	body = payload{} // the request is not sent again, and the response refers to it until its end
	m.p.gate.heed(m.model, resp.Header, resp.StatusCode)
	in := guard(resp.Body, idleTimeout, cancel)
	if resp.StatusCode/100 != 2 {
		return m.refused(resp, in, cred)
	}
	a.requestID = requestID(resp.Header)
	if err := read(ctx, in, m.wire, a); err != nil {
		return m.broken(err, a, cred)
	}
	if a.done {
		in.drain()
	}
	return false, nil
}

// newRequest returns a request. Its GetBody works as long as body does not change.
func (m *remote) newRequest(ctx context.Context, cred credentials, body *payload) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.wire.endpoint(m.base).String(), body.reader())
	if err != nil {
		return nil, err
	}
	req.ContentLength = body.len()
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(body.reader()), nil }
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "dragoman")
	m.wire.sign(req.Header, cred.key)
	for name, value := range cred.headers {
		req.Header.Set(name, value)
	}
	return req, nil
}

// read reads an answer to its end. A nil error means that the answer is complete and
// was yielded with its terminal, or that the consumer has stopped reading.
func read(ctx context.Context, in *idleReader, w wire, a *answer) error {
	defer a.flush()
	head, err := firstBytes(in)
	switch {
	case len(head) > 0 && head[0] == '<':
		return errWebPage
	case len(head) == 0 && errors.Is(err, io.EOF):
		return errNoEnd
	case len(head) == 0 && err != nil:
		return err
	}
	src, l := io.MultiReader(bytes.NewReader(head), &flushedReader{in, a}), w.listen(a)
	events := w.frames(src)
	if _, streams := events.(*eventFrames); streams && head[0] == '{' {
		return readWhole(ctx, src, l, a)
	}
	for {
		name, data, err := events.next()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
		case a.gone:
			return nil
		case a.finish != "" && (errors.Is(err, io.EOF) || errors.Is(err, errIdle)):
			return a.complete(ctx) // idle after the finish: only the usage is missing
		case errors.Is(err, io.EOF):
			return errNoEnd
		default:
			return err
		}
		if data = bytes.TrimSpace(data); len(data) == 0 {
			continue
		}
		if events.cut() && !json.Valid(data) && string(data) != "[DONE]" {
			return errNoEnd
		}
		if err := l.event(string(name), data); err != nil || a.gone {
			return err
		}
		if a.whole {
			return a.complete(ctx)
		}
		if a.finish != "" {
			in.idle = afterFinish
		}
	}
}

// flushedReader is the body of an answer. Before it waits for more, all text that has come is yielded.
type flushedReader struct {
	io.Reader
	a *answer
}

func (r *flushedReader) Read(p []byte) (int, error) {
	if r.a.flush(); r.a.gone {
		return 0, errLeft
	}
	return r.Reader.Read(p)
}

// firstBytes reads until there is a byte other than white space, and returns the data
// from there.
func firstBytes(in io.Reader) ([]byte, error) {
	buf := make([]byte, 4<<10)
	for {
		n, err := in.Read(buf)
		if head := bytes.TrimLeft(buf[:n], " \t\r\n"); len(head) > 0 || err != nil {
			return head, err
		}
	}
}

// readWhole reads the answer of a service that does not stream.
func readWhole(ctx context.Context, in io.Reader, l listener, a *answer) error {
	body, err := io.ReadAll(io.LimitReader(in, maxEvent+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errNoEnd
	case err != nil:
		return err
	case len(body) > maxEvent:
		return errEventTooLong
	case !json.Valid(body):
		return errNoEnd
	}
	if err := l.event("", body); err != nil || a.gone {
		return err
	}
	if a.finish == "" && !a.whole {
		return errNoEnd
	}
	return a.complete(ctx)
}

// pause returns the time to wait before the next try: the time that the service asks
// for, else a random time below a limit that doubles.
func pause(err error, try int) time.Duration {
	var e *inference.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		return e.RetryAfter
	}
	return rand.N(min(longWait, firstWait<<(try-1))) + 1
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure makes an error of this model.
func (m *remote) failure(kind inference.ErrorKind, message string, err error) *inference.Error {
	if err != nil {
		message = fmt.Sprintf("%s: %v", message, err)
	}
	return &inference.Error{Kind: kind, Model: m.info.ID, Message: message, Err: err}
}
