package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// loginFor limits the time that a person takes in the browser.
const loginFor = 5 * time.Minute

// closeFor limits the time of a running answer to the browser when the listening ends.
const closeFor = 2 * time.Second

// callback is the address that the browser returns to.
type callback struct {
	address string
	state   string // known only to this login
	got     chan url.Values
	server  *http.Server
	ended   chan struct{}
}

// listenBack listens only on this machine; port 0 is any. close must follow.
func listenBack(port int) (*callback, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the browser's return: %w", err)
	}
	c := &callback{
		address: "http://" + l.Addr().String() + "/callback", state: rand.Text(),
		got: make(chan url.Values, 1), ended: make(chan struct{}),
	}
	c.server = &http.Server{
		Handler: c, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: time.Second, MaxHeaderBytes: 64 << 10,
	}
	go func() { // close waits for it
		defer close(c.ended)
		_ = c.server.Serve(l) // it ends with close
	}()
	return c, nil
}

// ServeHTTP implements http.Handler: the first request that knows the state counts.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	text := "dragoman has received the answer. You can close this page.\n"
	switch {
	case r.Method != http.MethodGet || r.URL.Path != "/callback":
		w.WriteHeader(http.StatusNotFound)
		text = "There is nothing here.\n"
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1:
		w.WriteHeader(http.StatusBadRequest)
		text = "This answer does not belong to the current login. Start the login again.\n"
	default:
		select {
		case c.got <- q:
		default:
			w.WriteHeader(http.StatusConflict)
			text = "The answer has come before.\n"
		}
	}
	_, _ = w.Write([]byte(text)) // the browser may have left
}

// wait returns the parameters of the browser's request, or an error when ctx or its time ends.
func (c *callback) wait(ctx context.Context) (url.Values, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loginFor, fmt.Errorf("the login was not finished within %v", loginFor))
	defer cancel()
	select {
	case q := <-c.got:
		return q, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// close ends the listening. It lets a running answer finish, for closeFor at most. A second close
// does nothing.
func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeFor)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		c.server.Close()
	}
	<-c.ended
}
