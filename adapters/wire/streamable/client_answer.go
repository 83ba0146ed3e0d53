package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"dragoman/adapters/wire"
)

// single delivers an answer to m that is JSON. An error without an id gets m's.
func (h *Client) single(body io.Reader, m wire.Message) error {
	text, err := ReadAll(body, h.opts.Limit)
	if err != nil && len(text) > h.opts.Limit {
		return TooLong(h.opts.Limit)
	}
	if one, bad := wire.Parse(text); err == nil && bad == nil && one.ID == nil && one.Error != nil {
		h.answer(m, one.Error)
		return nil
	}
	if err == nil && !answers(text, m.ID) {
		err = fmt.Errorf("it does not answer the request, whose id is %s", m.ID)
	}
	if err == nil {
		err = h.deliver(text, m)
	}
	if err != nil {
		return fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return nil
}

// answers reports whether text is the answer to the request with the id, or a batch of
// 2025-03-26 that contains it. Text that is not valid JSON is left to deliver.
func answers(text []byte, id json.RawMessage) bool {
	var batch []json.RawMessage
	if json.Unmarshal(text, &batch) != nil {
		batch = []json.RawMessage{text}
	}
	for _, one := range batch {
		m, err := wire.Parse(one)
		if err != nil && !json.Valid(one) || m.Kind() == wire.Response && sameID(m.ID, id) {
			return true
		}
	}
	return false
}

// sameID reports whether two ids are the same, even if they are written differently.
func sameID(a, b json.RawMessage) bool {
	var x, y any
	return string(a) == string(b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
}

// TooLong reports an answer over the limit, which is in bytes.
func TooLong(limit int) error {
	return fmt.Errorf("the server's answer exceeds %d MiB, the limit of one message, and was dropped; "+
		"ask for less at a time", limit>>20)
}

// maxBusy limits how often in a row a message is posted again to a server that asks to wait.
const maxBusy = 3

// postPatiently posts a message, and again after the time that a busy server asks to wait, if
// that is at most maxResumeWait.
func (h *Client) postPatiently(ctx context.Context, line []byte, m wire.Message) (*http.Response, error) {
	for tries := 0; ; tries++ {
		resp, err := h.post(ctx, line, m)
		if err != nil || tries >= maxBusy {
			return resp, err
		}
		wait, ok := retryAfter(resp)
		if !ok || wait > maxResumeWait {
			return resp, nil
		}
		resp.Body.Close()
		if awaited(ctx.Done(), wait) {
			return nil, context.Cause(ctx)
		}
	}
}

// retryAfter returns the time that a busy server asks to wait; false: it does not.
func retryAfter(resp *http.Response) (wait time.Duration, ok bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	text := resp.Header.Get("Retry-After")
	if s, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(s) * time.Second, true
	}
	at, err := http.ParseTime(text)
	return max(0, time.Until(at).Round(time.Second)), err == nil
}
