package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/login"
	"dragoman/core/display"
)

const (
	// notifyFor is how long a server may take to accept a message that has no answer.
	notifyFor = 30 * time.Second
	// byeFor is how long it may take to end a session.
	byeFor = 2 * time.Second
	// maxResumed is how often in a row a stream that ended is taken up again without
	// anything new.
	maxResumed    = 5
	maxResumeWait = 30 * time.Second
)

// newHTTPClient returns a client for upstream servers. A redirect to another
// address is refused: what we send may hold a key.
func newHTTPClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return &http.Client{Transport: t, CheckRedirect: sameServer}
}

func sameServer(r *http.Request, via []*http.Request) error {
	if len(via) > 5 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
		return fmt.Errorf("the server redirects to %s, which is not followed", r.URL.Redacted())
	}
	return nil
}

// httpLink speaks Streamable HTTP (Basic, Transports): each message is posted, and
// what comes back, as JSON or as a stream, is put into one stream of lines in the
// order in which it came.
type httpLink struct {
	url     string
	headers map[string]string
	client  *http.Client
	limit   int
	whole   bool              // as in dialer
	send    func(line []byte) // posts one message

	lines *io.PipeWriter
	ctx   context.Context //nolint:containedctx // the link's life, as in net/http's own transport
	end   context.CancelCauseFunc
	owned sync.WaitGroup
	put   sync.Mutex // held while a line is put into lines

	mu      sync.Mutex // guards the fields below
	version string
	session string
	posts   map[string]*posted // by the request's id
	params  ParamHeaders
	fault   error  // why the link cannot go on
	rest    []byte // of a line that was not written whole
}

func (d dialer) dialHTTP(e Endpoint) (*Link, error) {
	if err := checkURL(e.URL); err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	h := &httpLink{url: e.URL, headers: e.Headers, client: d.client(e), limit: d.limit, whole: d.whole, lines: w, posts: map[string]*posted{}}
	h.ctx, h.end = context.WithCancelCause(context.Background())
	h.send = h.posting
	return &Link{In: r, Out: h, Settled: h.settled, Close: h.shut, Why: h.why}, nil
}

func checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the address is no http or https URL")
	}
	return nil
}

// Write implements io.Writer: it posts each line. Requests are answered whenever
// the server does; what has no answer is posted one by one.
func (h *httpLink) Write(b []byte) (int, error) {
	if h.ctx.Err() != nil {
		return 0, io.ErrClosedPipe
	}
	data := append(h.rest, b...)
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			h.rest = bytes.Clone(data)
			return len(b), nil
		}
		if line := bytes.Clone(data[:i]); len(line) > 0 {
			h.send(line)
		}
		data = data[i+1:]
	}
}

// posting posts a message; what a request is answered with comes when it comes.
func (h *httpLink) posting(line []byte) {
	m, err := wire.Parse(line)
	if err != nil {
		return // ours are
	}
	switch {
	case m.Kind() == wire.Request:
		ctx, cancel := context.WithCancel(h.ctx)
		p := &posted{cancel: cancel, sent: make(chan struct{}), done: make(chan struct{})}
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { p.once.Do(func() { close(p.sent) }) }})
		h.mu.Lock()
		h.posts[string(m.ID)] = p
		h.mu.Unlock()
		h.owned.Go(func() {
			defer close(p.done)
			defer p.once.Do(func() { close(p.sent) }) // it never will be
			defer cancel()
			h.request(ctx, line, m)
			h.mu.Lock()
			delete(h.posts, string(m.ID))
			h.mu.Unlock()
		})
	case m.Method == proto.NoteCancelled:
		h.owned.Go(func() { h.withdraw(line, m) })
	case m.Method == proto.NoteInitialized: // the server may refuse everything until it has this
		h.notify(line, m)
	default:
		h.owned.Go(func() { h.notify(line, m) })
	}
}

// posted is a request that is under way.
type posted struct {
	cancel context.CancelFunc
	once   sync.Once
	sent   chan struct{} // closed when it has been written
	done   chan struct{} // closed when it is over
}

// withdraw takes a request back: by saying so, or at 2026-07-28 by hanging up. The
// two may overtake each other on their way, and a server forgets what it hears of a
// request that it does not know yet: so it is told again when that had no effect.
func (h *httpLink) withdraw(line []byte, m wire.Message) {
	var n struct {
		ID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(m.Params, &n) // ours
	h.mu.Lock()
	p, modern := h.posts[string(n.ID)], h.version >= proto.Modern
	h.mu.Unlock()
	if p == nil {
		return // it is over
	}
	defer p.cancel()
	if modern {
		return
	}
	awaited(p.sent, notifyFor)
	h.notify(line, m)
	for _, d := range []time.Duration{200 * time.Millisecond, time.Second} {
		if awaited(p.done, d) || h.ctx.Err() != nil {
			return
		}
		h.notify(line, m)
	}
}

// notify posts what has no answer. A server that does not take it is heard of at
// the next request.
func (h *httpLink) notify(line []byte, m wire.Message) {
	ctx, cancel := context.WithTimeout(h.ctx, notifyFor)
	defer cancel()
	if resp, err := h.post(ctx, line, m); err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		resp.Body.Close()
	}
}

// request posts a request and sees to it that it gets an answer.
func (h *httpLink) request(ctx context.Context, line []byte, m wire.Message) {
	resp, err := h.post(ctx, line, m)
	if err != nil {
		h.refuse(m, codeUnreached, login.WithoutURL(err).Error())
		var wants *login.RequiredError
		if errors.As(err, &wants) && !wants.More && !h.whole { // a relay's client may go on once there is a login
			h.fail(wants)
		}
		return
	}
	defer resp.Body.Close()
	if m.Method == proto.MethodInitialize {
		h.mu.Lock()
		h.session = resp.Header.Get(proto.HeaderSession)
		h.mu.Unlock()
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 300:
		h.failed(resp, kind, m)
	case kind == "text/event-stream":
		h.follow(ctx, resp.Body, m)
	case kind == "application/json":
		body, err := ReadAll(resp.Body, h.limit)
		if err == nil {
			err = h.deliver(body)
		}
		if err != nil {
			h.refuse(m, codeUnreached, "the server's answer cannot be read: "+err.Error())
		}
	default:
		h.refuse(m, codeUnreached, fmt.Sprintf("the server answered %s with %q in place of JSON or a stream", resp.Status, kind))
	}
}

// failed deals with a status that is an error. A JSON-RPC error in its body is the
// answer; else the status is.
func (h *httpLink) failed(resp *http.Response, kind string, m wire.Message) {
	body, _ := ReadAll(resp.Body, 64<<10)
	h.mu.Lock()
	session := h.session
	h.mu.Unlock()
	if resp.StatusCode == http.StatusNotFound && session != "" && m.Method != proto.MethodInitialize {
		h.fail(errSessionLost)
		h.refuse(m, codeUnreached, errSessionLost.Error())
		return
	}
	if kind == "application/json" {
		if r, err := wire.Parse(body); err == nil && r.Kind() == wire.Response && r.Error != nil {
			if string(r.ID) == string(m.ID) {
				_ = h.deliver(body)
			} else {
				h.answer(m, r.Error)
			}
			return
		}
	}
	text := "the server answered " + resp.Status
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		text += ": it wants a login, or another key than the one that is configured"
	default:
		if s := strings.TrimSpace(display.Plain(strings.ToValidUTF8(string(body), "\uFFFD"))); s != "" && kind != "text/html" {
			text += ": " + s[:min(len(s), 200)]
		}
	}
	h.refuse(m, codeUnreached, text)
}

var errSessionLost = errors.New("the server has forgotten our session; it was most likely restarted")

// follow delivers a stream until it has brought the answer to m. One that ends
// before is taken up again where the server has given it ids.
func (h *httpLink) follow(ctx context.Context, body io.Reader, m wire.Message) {
	c := &cursor{}
	answered, err := h.stream(body, m.ID, c)
	for tries := 0; !answered && c.id != "" && tries < maxResumed && ctx.Err() == nil; tries++ {
		if !sleep(ctx, c.wait(tries)) {
			break
		}
		resp, again := h.get(ctx, c.id)
		if again != nil {
			err = again
			continue
		}
		before := c.id
		answered, err = h.stream(resp.Body, m.ID, c)
		resp.Body.Close()
		if c.id != before {
			tries = -1
		}
	}
	if !answered {
		text := "the server ended the stream without an answer"
		if err != nil && !errors.Is(err, io.EOF) {
			text += ": " + err.Error()
		}
		h.refuse(m, codeUnreached, text)
	}
}

// cursor is how far a stream was read.
type cursor struct {
	id    string
	retry time.Duration
}

// wait is how long to wait before a stream is taken up again.
func (c *cursor) wait(tries int) time.Duration {
	if c.retry > 0 {
		return min(c.retry, maxResumeWait)
	}
	return min(time.Second<<min(tries, 10), maxResumeWait)
}

// stream delivers the messages of a stream. It returns true after the answer to
// id; the error says how the stream ended otherwise.
func (h *httpLink) stream(body io.Reader, id json.RawMessage, c *cursor) (bool, error) {
	s := NewEvents(body, h.limit)
	for {
		e, err := s.Next()
		if err != nil {
			return false, err
		}
		if e.ID != "" {
			c.id = e.ID
		}
		if e.Retry > 0 {
			c.retry = e.Retry
		}
		if len(bytes.TrimSpace(e.Data)) == 0 || e.Name != "" && e.Name != "message" {
			continue
		}
		if err := h.deliver(e.Data); err != nil {
			if h.ctx.Err() != nil {
				return false, err
			}
			continue // no message: the next may be one
		}
		if id == nil {
			continue
		}
		if m, err := wire.Parse(e.Data); err == nil && m.Kind() == wire.Response && string(m.ID) == string(id) {
			return true, nil
		}
	}
}

// listen reads the stream of what the server says unasked, while there is one.
func (h *httpLink) listen() {
	c := &cursor{}
	for tries := 0; tries < maxResumed; tries++ {
		resp, err := h.get(h.ctx, c.id)
		var refused statusError
		var wants *login.RequiredError
		if errors.As(err, &refused) && refused.code < 500 || errors.As(err, &wants) {
			return // there is none
		}
		if err == nil {
			before := c.id
			_, err = h.stream(resp.Body, nil, c)
			resp.Body.Close()
			if errors.Is(err, io.EOF) || c.id != before {
				tries = 0
			}
		}
		if !sleep(h.ctx, c.wait(tries)) {
			return
		}
	}
}

// statusError is a status that was not hoped for.
type statusError struct {
	code   int
	status string
}

func (e statusError) Error() string { return "the server answered " + e.status }

// get opens a stream. The caller closes the body.
func (h *httpLink) get(ctx context.Context, after string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		return nil, err
	}
	h.head(req, wire.Message{})
	req.Header.Set("Accept", "text/event-stream")
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, login.WithoutURL(err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		resp.Body.Close()
		return nil, statusError{resp.StatusCode, resp.Status}
	}
	return resp, nil
}

func (h *httpLink) post(ctx context.Context, line []byte, m wire.Message) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(line))
	if err != nil {
		return nil, err
	}
	h.head(req, m)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return h.client.Do(req)
}

// head sets the headers of a request. What is configured cannot replace those of
// the protocol.
func (h *httpLink) head(req *http.Request, m wire.Message) {
	for name, value := range h.headers {
		req.Header.Set(name, value)
	}
	h.mu.Lock()
	version, session := h.version, h.session
	h.mu.Unlock()
	if v := VersionOf(m); v != "" {
		version = v
	}
	if version != "" && version != proto.Numbered && m.Method != proto.MethodInitialize {
		req.Header.Set(proto.HeaderVersion, version)
	}
	if session != "" && m.Method != proto.MethodInitialize {
		req.Header.Set(proto.HeaderSession, session)
	}
	if version >= proto.Modern && m.Method != "" {
		h.headModern(req, m)
	}
}

// deliver puts a message into the stream of lines, and notes what the transport has
// to know of it. It waits while nobody reads.
func (h *httpLink) deliver(text []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	h.note(line.Bytes())
	line.WriteByte('\n')
	h.put.Lock()
	defer h.put.Unlock()
	_, err := h.lines.Write(line.Bytes())
	return err
}

// The code of errors that we make in the place of a server which cannot be reached.
const codeUnreached = -32097

// refuse answers a request in the server's place.
func (h *httpLink) refuse(m wire.Message, code int, text string) {
	message, err := json.Marshal(text)
	if err != nil {
		return
	}
	h.answer(m, []byte(`{"code":`+strconv.Itoa(code)+`,"message":`+string(message)+`}`))
}

func (h *httpLink) answer(m wire.Message, fault []byte) {
	_ = h.deliver([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":` + string(fault) + `}`)) // nobody reads any more
}

// settled notes the version, and opens the stream of what comes unasked where the
// version has one.
func (h *httpLink) settled(version string) {
	h.mu.Lock()
	h.version = version
	h.mu.Unlock()
	if version < proto.Modern {
		h.owned.Go(h.listen)
	}
}

// fail ends the link for a reason.
func (h *httpLink) fail(err error) {
	h.mu.Lock()
	if h.fault == nil {
		h.fault = err
	}
	h.mu.Unlock()
	h.owned.Go(func() { h.lines.CloseWithError(io.EOF) }) // behind what is being delivered
}

// Close implements io.Closer: nothing more is posted.
func (h *httpLink) Close() error { return nil }

// shut ends the session and everything that is under way.
func (h *httpLink) shut() {
	h.mu.Lock()
	session, lost := h.session, h.fault != nil
	h.mu.Unlock()
	if session != "" && !lost && h.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(h.ctx, byeFor)
		defer cancel()
		if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, h.url, nil); err == nil {
			h.head(req, wire.Message{})
			if resp, err := h.client.Do(req); err == nil {
				resp.Body.Close()
			}
		}
	}
	h.end(io.ErrClosedPipe)
	h.lines.CloseWithError(io.EOF)
	h.owned.Wait()
}

func (h *httpLink) why() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault != nil {
		return h.fault.Error()
	}
	return "the connection has ended"
}

// ReadAll reads at most limit bytes; more is an error.
func ReadAll(r io.Reader, limit int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(b) > limit {
		err = fmt.Errorf("it exceeds %d bytes", limit)
	}
	return b, err
}

// sleep waits; false: ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
