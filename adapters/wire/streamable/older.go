package streamable

import (
	"context"
	"errors"
	"net/url"
	"sync"

	"dragoman/adapters/wire"
	"dragoman/core/sse"
)

// olderClient speaks the transport of 2024-11-05 (HTTP with SSE): one stream brings all messages of
// the server; its first event names the address for our posts.
type olderClient struct {
	*Client
	stream *url.URL
	known  chan struct{} // closed when post is known, or never will be
	once   sync.Once
	err    error // why the stream could not be opened; set before known is closed
}

// NewOlderClient is NewClient for a server that speaks the transport of 2024-11-05.
func NewOlderClient(o Options) (*Client, error) {
	h, err := newClient(o)
	if err != nil {
		return nil, err
	}
	u, _ := url.Parse(o.URL) // newClient has checked it
	s := &olderClient{Client: h, stream: u, known: make(chan struct{})}
	h.send, h.older = s.send, true
	h.owned.Go(s.read)
	return h, nil
}

// read delivers the stream until it ends; the connection ends with it.
func (s *olderClient) read() {
	defer s.once.Do(func() { close(s.known) })
	resp, err := s.get(s.ctx, "")
	if err != nil {
		s.err = err
		s.fail(err)
		return
	}
	defer resp.Body.Close()
	stream := sse.NewReader(resp.Body, s.opts.Limit)
	for {
		e, err := stream.Next()
		if errors.Is(err, sse.ErrTooLong) {
			s.fail(TooLong(s.opts.Limit))
			return
		}
		if err != nil {
			s.fail(errors.New("the server ended the stream"))
			return
		}
		switch string(e.Name) {
		case "endpoint":
			to, err := s.stream.Parse(string(e.Data))
			if err != nil || to.Host != s.stream.Host || to.Scheme != s.stream.Scheme {
				s.err = errors.New("the server asks for our messages at another origin, where they are not sent")
				s.fail(s.err)
				return
			}
			s.once.Do(func() {
				s.url = to.String()
				close(s.known)
			})
		case "", "message":
			if s.deliver(e.Data, wire.Message{}) != nil && s.ctx.Err() != nil {
				return
			}
		}
	}
}

// send posts a message as soon as the address is known; the answer comes by the stream.
func (s *olderClient) send(line []byte) {
	m, err := wire.Parse(line)
	if err != nil {
		return // our messages are valid
	}
	select {
	case <-s.known:
	case <-s.ctx.Done():
		return
	}
	if s.err != nil {
		if m.Kind() == wire.Request {
			s.refuse(m, s.err.Error())
		}
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, notifyFor)
	defer cancel()
	resp, err := s.post(ctx, line, m)
	switch {
	case err != nil && m.Kind() == wire.Request:
		s.refuse(m, s.opts.Explain(err).Error())
	case err != nil:
	default:
		if resp.StatusCode >= 300 && m.Kind() == wire.Request {
			s.failed(resp, "", m)
		}
		resp.Body.Close()
	}
}
