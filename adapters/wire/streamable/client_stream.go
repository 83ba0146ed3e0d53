package streamable

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"dragoman/adapters/wire"
	"dragoman/core/sse"
)

// follow delivers a stream up to the answer to m. If it ends before, it is resumed, provided that
// the server has given its events ids.
func (h *Client) follow(ctx context.Context, body io.Reader, m wire.Message) {
	c := &cursor{}
	answered, err := h.stream(body, m, c)
	for tries := 0; !answered && c.id != "" && !errors.Is(err, sse.ErrTooLong) && tries < maxResumed && ctx.Err() == nil; tries++ {
		if awaited(ctx.Done(), c.wait(tries)) {
			break
		}
		resp, again := h.get(ctx, c.id)
		if again != nil {
			err = again
			continue
		}
		before := c.id
		answered, err = h.stream(resp.Body, m, c)
		resp.Body.Close()
		if errors.Is(err, sse.ErrTooLong) {
			break
		}
		if c.id != before {
			tries = -1
		}
	}
	if !answered && errors.Is(err, sse.ErrTooLong) {
		h.refuse(m, TooLong(h.opts.Limit).Error())
	} else if !answered {
		text := "the server ended the stream without an answer"
		if err != nil && !errors.Is(err, io.EOF) {
			text += ": " + err.Error()
		}
		h.refuse(m, text)
	}
}

// cursor is a position in a stream.
type cursor struct {
	id    string
	retry time.Duration
}

// wait returns the time to wait before a stream is resumed.
func (c *cursor) wait(tries int) time.Duration {
	if c.retry > 0 {
		return min(c.retry, maxResumeWait)
	}
	return min(time.Second<<min(tries, 10), maxResumeWait)
}

// stream delivers the messages of a stream. It returns true after the answer to the request m, if there
// is one, else the reason for the stream's end.
func (h *Client) stream(body io.Reader, m wire.Message, c *cursor) (bool, error) {
	s := sse.NewReader(body, h.opts.Limit)
	for {
		e, err := s.Next()
		if err != nil {
			return false, err
		}
		if len(e.ID) > 0 {
			c.id = string(e.ID)
		}
		if e.Retry > 0 {
			c.retry = e.Retry
		}
		if len(bytes.TrimSpace(e.Data)) == 0 || len(e.Name) > 0 && string(e.Name) != "message" {
			continue
		}
		if err := h.deliver(e.Data, m); err != nil {
			if h.ctx.Err() != nil {
				return false, err
			}
			continue // no message
		}
		if m.ID == nil {
			continue
		}
		if r, err := wire.Parse(e.Data); err == nil && r.Kind() == wire.Response && string(r.ID) == string(m.ID) {
			return true, nil
		}
	}
}

// listen reads the stream of the server's own messages, as long as there is one.
func (h *Client) listen() {
	c := &cursor{}
	for tries := 0; tries < maxResumed; tries++ {
		resp, err := h.get(h.ctx, c.id)
		var refused statusError
		wants, _ := h.opts.WantsLogin(err)
		if errors.As(err, &refused) && refused.code < 500 || wants != nil {
			return // the server has no such stream
		}
		if err == nil {
			before := c.id
			if before == "" {
				h.opts.Listening()
			}
			_, err = h.stream(resp.Body, wire.Message{}, c)
			resp.Body.Close()
			if errors.Is(err, io.EOF) || c.id != before {
				tries = 0
			}
		}
		if awaited(h.ctx.Done(), c.wait(tries)) {
			return
		}
	}
}

// statusError is an unexpected status.
type statusError struct {
	code   int
	status string
}

func (e statusError) Error() string { return "the server answered " + e.status }

// get opens a stream. The caller closes the body.
func (h *Client) get(ctx context.Context, after string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		return nil, err
	}
	h.head(req, wire.Message{})
	req.Header.Set("Accept", "text/event-stream")
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	resp, err := h.opts.HTTP.Do(req)
	if err != nil {
		return nil, h.opts.Explain(err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		resp.Body.Close()
		return nil, statusError{resp.StatusCode, resp.Status}
	}
	return resp, nil
}
