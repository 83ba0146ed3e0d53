package llm

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dragoman/core/display"
	"dragoman/core/inference"
)

const (
	maxErrorBody = 64 << 10
	maxMessage   = 600 // bytes of a service's message for the user
)

var (
	errNoEnd   = errors.New("the answer ended before it was complete")
	errWebPage = errors.New("the service answered with a web page")
)

// reportedError is an error that a service reports within an answer.
type reportedError struct{ data []byte }

func (e *reportedError) Error() string { return "the service reported an error" }

// unreadableError reports an event that violates the API.
type unreadableError struct {
	data string // set if it is not even JSON
	err  error
}

func (e *unreadableError) Error() string {
	if e.data != "" {
		return fmt.Sprintf("the service sent an event that is not JSON: %s", e.data)
	}
	return "the service sent an event that is not of this API: " + jsonProblem(e.err)
}

// decode reads an event into v; the error is an *unreadableError.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	switch {
	case err == nil:
		return nil
	case json.Valid(data):
		return &unreadableError{err: err}
	}
	return &unreadableError{data: shorten(string(data), 200), err: err}
}

// jsonProblem describes an error in a JSON text without the names of our types.
func jsonProblem(err error) string {
	var e *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &e):
		return err.Error()
	case e.Field == "":
		return "it is of type " + e.Value
	}
	return fmt.Sprintf("%s is of type %s", e.Field, e.Value)
}

// complaint is a service's report of an error, in any of the shapes that occur:
// {"error":{…}}, {"error":"…"}, [{"error":{…}}], {"message":…}, {"detail":…}.
type complaint struct {
	message, kind, code string
	place               string // the part of the request that it is about
	status              int    // if the code is an HTTP status
}

func parseComplaint(body []byte) complaint {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
		Choices []struct {
			Error json.RawMessage `json:"error"`
		} `json:"choices"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return complaint{message: strings.Join(strings.Fields(string(body)), " ")}
	}
	inner := json.RawMessage(body)
	switch {
	case reported(outer.Error):
		inner = outer.Error
	case len(outer.Choices) > 0 && reported(outer.Choices[0].Error):
		inner = outer.Choices[0].Error
	case reported(outer.Detail):
		inner = outer.Detail
	}
	var c complaint
	if json.Unmarshal(inner, &c.message) == nil {
		return c
	}
	var fields struct {
		Message  any `json:"message"`
		Type     any `json:"type"`
		Code     any `json:"code"`
		Param    any `json:"param"`
		Metadata struct {
			Raw any `json:"raw"` // OpenRouter: the message of the underlying service
		} `json:"metadata"`
	}
	if json.Unmarshal(inner, &fields) != nil {
		c.message = string(inner)
		return c
	}
	c.message, c.kind, c.code = scalar(fields.Message), scalar(fields.Type), scalar(fields.Code)
	c.place = scalar(fields.Param)
	if raw := scalar(fields.Metadata.Raw); raw != "" {
		c.message += ": " + raw
	}
	if n, err := strconv.Atoi(c.code); err == nil && n >= 400 && n < 600 {
		c.status = n
	}
	c.message = cmp.Or(c.message, string(inner))
	return c
}

// scalar writes a JSON value; an object as JSON.
func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// sort classifies a complaint and reports whether a later try may succeed.
func (c complaint) sort(status int) (kind inference.ErrorKind, again bool) {
	said := strings.ToLower(c.message + " " + c.kind + " " + c.code)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(said, p) {
				return true
			}
		}
		return false
	}
	switch {
	case status == 402,
		status < 500 && has("insufficient_quota", "billing_hard_limit", "credit balance", "insufficient balance", "insufficient credit",
			"insufficient funds", "out of credit", "exceeded your monthly"):
		return inference.ErrQuota, false
	case status == 401,
		status == 403,
		has("invalid_api_key", "authentication_error"):
		return inference.ErrAuth, false
	case status == 413,
		(status < 429 || status == 500) && has("context_length", "context length", "context window", "prompt is too long",
			"maximum context", "exceed_context_size", "too many tokens", "input token count"):
		return inference.ErrContextLength, false
	case status == 429, status < 400 && has("rate_limit", "rate limit"):
		return inference.ErrRateLimit, true
	case status == 529, status == 503, has("overloaded"):
		return inference.ErrOverloaded, true
	case status == 408, status == 409, status == 425, status >= 500:
		return inference.ErrServer, true
	case status == 0 && has("invalid_request", "not_found"):
		return inference.ErrBadRequest, false
	case has("content_filter", "content_policy", "content management policy", "safety"):
		return inference.ErrSafety, false
	case status >= 300:
		return inference.ErrBadRequest, false
	}
	return inference.ErrServer, true
}

// refused makes an error from an answer with an unsuccessful status.
func (m *remote) refused(resp *http.Response, body io.Reader, cred credentials) (again bool, err error) {
	b, readErr := io.ReadAll(io.LimitReader(body, maxErrorBody))
	c := parseComplaint(b)
	if c.message == "" && readErr != nil {
		c.message = "its reason could not be read"
	}
	if isPage(resp.Header.Get("Content-Type"), b) {
		c.message = errWebPage.Error() + pageTitle(b)
	}
	if c.message == "" {
		c.message = http.StatusText(resp.StatusCode)
	}
	e, again := m.complained(c, resp.StatusCode, cred)
	e.RequestID = requestID(resp.Header)
	e.RetryAfter = retryAfter(resp.Header, resp.StatusCode)
	e.Hint = untilWhen(e)
	if resp.StatusCode/100 == 3 {
		e.Message = "the service redirects to " + cred.redact(resp.Header.Get("Location"))
		e.Hint = fmt.Sprintf("Set base_url of the provider %s to where the service is", m.p.Name)
	}
	return again, e
}

// isPage reports whether an answer is a web page, whatever its type says.
func isPage(contentType string, body []byte) bool {
	head := strings.ToLower(string(body[:min(len(body), 200)]))
	return strings.Contains(contentType, "text/html") || strings.HasPrefix(strings.TrimSpace(head), "<!doctype html") ||
		strings.HasPrefix(strings.TrimSpace(head), "<html")
}

// pageTitle returns the title of a web page, behind a colon; "": it has none.
func pageTitle(page []byte) string {
	_, rest, ok := strings.Cut(string(page), "<title>")
	title, _, closed := strings.Cut(rest, "<")
	title = strings.Join(strings.Fields(title), " ")
	if !ok || !closed || title == "" {
		return ""
	}
	return ": " + title
}

// untilWhen returns the advice of an error, with the time up to which the service asks to wait.
func untilWhen(e *inference.Error) string {
	const least = time.Minute // shorter times are over when they have been read
	if e.Kind != inference.ErrRateLimit && e.Kind != inference.ErrOverloaded || e.RetryAfter < least {
		return e.Hint
	}
	at, layout := time.Now().Add(e.RetryAfter), "15:04"
	if e.RetryAfter > 12*time.Hour {
		layout = "Monday, 2 January, 15:04"
	}
	return "Try again after " + at.Format(layout) + ", as the service asks, or use another model"
}

// complained makes an error from a complaint. status is the answer's, or 0 for a
// complaint within an answer.
func (m *remote) complained(c complaint, status int, cred credentials) (e *inference.Error, again bool) {
	status = cmp.Or(status, c.status)
	kind, again := c.sort(status)
	message := strings.TrimRight(shorten(cred.redact(c.message), maxMessage), ". \n")
	e = &inference.Error{Kind: kind, Model: m.info.ID, Status: status, Message: message}
	e.Place = strings.TrimSpace(cred.redact(c.place + " " + c.code))
	e.Hint = m.hint(kind, status, cred)
	return e, again
}

// hint returns advice for the user, or "".
func (m *remote) hint(kind inference.ErrorKind, status int, cred credentials) string {
	switch kind {
	case inference.ErrQuota:
		return fmt.Sprintf("The account at %s may be out of credit", m.p.Name)
	case inference.ErrAuth:
		switch {
		case cred.key == "" && m.p.KeyHint != "":
			return "No key was sent. " + m.p.KeyHint
		case m.p.KeyHint != "":
			return m.p.KeyHint
		}
		return fmt.Sprintf("Check the key of the provider %s", m.p.Name)
	case inference.ErrContextLength:
		return "Begin a new session, or use a model with a larger window"
	case inference.ErrRateLimit, inference.ErrOverloaded:
		return "Try again later, or use another model"
	case inference.ErrBadRequest,
		inference.ErrSafety,
		inference.ErrServer,
		inference.ErrNetwork,
		inference.ErrTruncated:
	}
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		return fmt.Sprintf(
			"Check that %s has a model named %q, and that base_url is right (%s)",
			m.p.Name,
			m.model,
			m.address(),
		)
	}
	return ""
}

// unreachable makes an error from a request that got no answer.
func (m *remote) unreachable(err error) (again bool, _ error) {
	err = display.WithoutURL(err)
	e := m.failure(inference.ErrNetwork, "no answer from "+m.address(), err)
	var op *net.OpError
	var dns *net.DNSError
	var timeout net.Error
	if hint := certificateHint(err); hint != "" {
		e.Hint = hint
		return false, e
	}
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect", strings.Contains(err.Error(), "invalid proxy"):
		e.Hint = m.proxyHint()
	case errors.As(err, &dns):
		e.Hint = "Check the network, and base_url of the provider " + m.p.Name
	case errors.As(err, &op) && op.Op == "dial":
		e.Hint = fmt.Sprintf("Is the server running at %s?", m.address())
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Hint = "Try again later, or use another model"
	case errors.As(err, &op),
		errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, io.ErrClosedPipe),
		strings.Contains(err.Error(), "http2:"):
		return true, e // the connection was made, and then lost
	default:
		e.Hint = "Check base_url of the provider " + m.p.Name
	}
	return false, e
}

// certificateHint returns advice about a connection that failed because of TLS; "": it failed for another reason.
func certificateHint(err error) string {
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var invalid x509.CertificateInvalidError
	var plain tls.RecordHeaderError
	through := ""
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "proxyconnect" {
		through = "proxy"
	}
	switch {
	case errors.As(err, &unknown), strings.Contains(err.Error(), "certificate is not trusted"):
		return "The certificate is signed by an authority that is not trusted here. If your company's proxy signs it, set SSL_CERT_FILE " +
			"to a file with the company's certificate; on macOS and Windows add it to the system's"
	case errors.As(err, &other):
		return "The certificate is for another host. Check the host in base_url, and the network's proxy"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "The certificate is not valid now. Check the clock of this machine"
	case through == "" && (errors.As(err, &plain) || strings.Contains(err.Error(), "HTTP response to HTTPS client")):
		return "The service does not speak TLS. base_url may have to begin with http:// instead of https://"
	}
	return ""
}

// proxyHint returns advice about the proxy that the environment names.
func (m *remote) proxyHint() string {
	name := "HTTPS_PROXY"
	if m.base.Scheme == "http" {
		name = "HTTP_PROXY"
	}
	at := ""
	if u, err := http.ProxyFromEnvironment(&http.Request{URL: m.base}); err == nil && u != nil {
		at = " (" + u.Redacted() + ")"
	}
	return "Check the proxy in " + name + at + ": the host, the port, and the scheme, which is http:// for most proxies, also for HTTPS"
}

// broken makes an error from an answer that began well and failed later.
func (m *remote) broken(err error, a *answer, cred credentials) (again bool, _ error) {
	var told *reportedError
	var unreadable *unreadableError
	switch {
	case errors.As(err, &told):
		e, again := m.complained(parseComplaint(told.data), 0, cred)
		e.RequestID = a.requestID
		return again, e
	case errors.Is(err, errWebPage):
		e := m.failure(inference.ErrBadRequest, err.Error(), nil)
		e.Hint = fmt.Sprintf("Check base_url of the provider %s (%s); most end in /v1", m.p.Name, m.address())
		return false, e
	case errors.As(err, &unreadable):
		e := m.failure(inference.ErrServer, cred.redact(err.Error()), nil)
		e.RequestID = a.requestID
		return false, e
	}
	kind, message := inference.ErrTruncated, "the answer broke off"
	if !a.begun && !errors.Is(err, errNoEnd) {
		kind, message = inference.ErrNetwork, "the connection was lost before the answer"
	}
	if errors.Is(err, errNoEnd) {
		message, err = err.Error(), nil
	}
	e := m.failure(kind, message, err)
	e.RequestID = a.requestID
	return kind == inference.ErrNetwork && !errors.Is(err, errIdle) && !errors.Is(err, errEventTooLong), e
}

// address returns the base URL without parts that may be secret.
func (m *remote) address() string {
	return m.base.Scheme + "://" + m.base.Host + m.base.Path
}

// shorten returns at most about n bytes of a text, for people.
func shorten(s string, n int) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD")
	if cut := display.Cut(s, n); len(cut) < len(s) {
		return cut + "…"
	}
	return s
}

func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "Cf-Ray"} {
		if v := h.Get(name); v != "" {
			return shorten(v, 100)
		}
	}
	return ""
}

// retryAfter returns how long the service asks us to wait; 0: unknown.
func retryAfter(h http.Header, status int) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	if v := h.Get("Retry-After"); v != "" {
		if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
			return bounded(s)
		}
		if at, err := http.ParseTime(v); err == nil {
			return max(time.Until(at), 0)
		}
	}
	if status != http.StatusTooManyRequests {
		return 0
	}
	return rateReset(h)
}

// rateReset reads OpenAI's x-ratelimit headers and returns when the exhausted limit is
// reset. If they do not identify the exhausted one, it returns the earlier time.
func rateReset(h http.Header) time.Duration {
	var out, any time.Duration
	for _, what := range []string{"-Requests", "-Tokens", ""} {
		d := resetTime(h.Get("X-Ratelimit-Reset" + what))
		if d <= 0 {
			continue
		}
		if h.Get("X-Ratelimit-Remaining"+what) == "0" {
			out = max(out, d)
		}
		if any == 0 || d < any {
			any = d
		}
	}
	if out > 0 {
		return out
	}
	return any
}

// resetTime reads "6m0s", seconds from now, or Unix seconds or milliseconds.
func resetTime(v string) time.Duration {
	if d, err := time.ParseDuration(v); err == nil {
		return d
	}
	s, err := strconv.ParseFloat(v, 64)
	switch {
	case err != nil:
		return 0
	case s > 1e11:
		return time.Until(time.UnixMilli(int64(min(s, 1e15))))
	case s > 1e8:
		return time.Until(time.Unix(int64(s), 0))
	}
	return bounded(s)
}

// bounded converts seconds to a duration that does not overflow.
func bounded(seconds float64) time.Duration {
	return time.Duration(min(seconds, 1e6) * float64(time.Second))
}
