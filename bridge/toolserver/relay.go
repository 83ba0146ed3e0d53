package toolserver

import (
	"context"
	"errors"
	"io"
	"sync"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/core/display"
)

// maxQueued limits the bytes that wait for an agent to read them before more are taken from the
// server.
const maxQueued = 1 << 20

// errEnded means that the server does not know the agent any more.
var errEnded = errors.New("the session that these tools belong to has ended")

// Relay copies the messages of an agent to the server of a session, and those of the server to the
// agent; url and token are those of Session.Stdio. It returns when in or ctx ends, or errEnded when
// the session has ended, after everything that it has started has ended. Both streams are closed
// then.
func Relay(ctx context.Context, url, token string, in io.ReadCloser, out io.WriteCloser) error {
	client, err := streamable.NewClient(streamable.Options{
		URL:        url,
		Headers:    map[string]string{"Authorization": "Bearer " + token},
		HTTP:       streamable.NewHTTPClient(nil),
		Limit:      wire.MaxMessage,
		Explain:    display.WithoutURL,
		Plain:      display.Plain,
		Warn:       func(string) {}, // it is ours, and lists no such tool
		WantsLogin: func(error) (error, bool) { return nil, false },
		Listening:  func() {},
	})
	if err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	r := &relay{client: client, out: wire.NewWriter(out, wire.Newline)}
	ctx, end := context.WithCancelCause(ctx)
	var owned, reading sync.WaitGroup
	owned.Go(func() {
		_ = r.out.Run(context.WithoutCancel(ctx)) // until it is closed, or the agent has left
		end(io.EOF)
	})
	owned.Go(func() {
		<-ctx.Done()
		in.Close() //nolint:errcheck // it ends the reading
	})
	reading.Go(func() {
		r.receive(ctx)
		end(errEnded)
	})
	r.send(in)
	end(io.EOF)
	client.Shut()
	reading.Wait()
	r.out.Close()
	owned.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, io.EOF) {
		return cause
	}
	return nil
}

// relay is a client of a session's server for an agent.
type relay struct {
	client *streamable.Client
	out    *wire.Writer

	mu    sync.Mutex // guards the fields below
	hello string     // the id of the agent's initialize while it is open
	knows bool       // the client knows the version
}

// send passes the agent's messages on until they end.
func (r *relay) send(in io.Reader) {
	for frames := wire.Newline.Framer(in, 0); ; {
		line, err := frames.Next()
		if fault, ok := errors.AsType[*wire.FrameError](err); ok {
			r.refuse(nil, fault)
			continue
		}
		if err != nil {
			return
		}
		m, err := wire.Parse(line)
		if err != nil {
			r.refuse(m.ID, err)
			continue
		}
		r.sent(m)
		if _, err := r.client.Write(append(line[:len(line):len(line)], '\n')); err != nil {
			return
		}
	}
}

// refuse answers a message that is none.
func (r *relay) refuse(id []byte, err error) {
	_ = r.out.Put(wire.AppendAnswer(nil, id, nil, err)) // the agent has left
}

// sent notes the parts of a message of the agent that the transport depends on.
func (r *relay) sent(m wire.Message) {
	r.mu.Lock()
	if m.Method == proto.MethodInitialize {
		r.hello = string(m.ID)
	}
	modern := !r.knows && streamable.VersionOf(m.Params) >= proto.Modern
	r.knows = r.knows || modern
	r.mu.Unlock()
	if modern {
		r.client.Settled(proto.Modern)
	}
}

// receive passes the server's messages on until they end.
func (r *relay) receive(ctx context.Context) {
	for frames := wire.Newline.Framer(r.client.Lines(), 0); ; {
		line, err := frames.Next()
		if err != nil {
			return // the client limits messages already
		}
		r.received(line)
		if r.out.Room(ctx, maxQueued) != nil || r.out.Put(line) != nil {
			return
		}
	}
}

// received has the client use the version of the server's answer to initialize.
func (r *relay) received(line []byte) {
	r.mu.Lock()
	hello := r.hello
	r.mu.Unlock()
	if hello == "" {
		return
	}
	m, err := wire.Parse(line)
	if err != nil || m.Kind() != wire.Response || string(m.ID) != hello {
		return
	}
	var res struct {
		Version string `json:"protocolVersion"`
	}
	failed := wire.Unmarshal(m.Result, &res) != nil || res.Version == ""
	r.mu.Lock()
	r.hello, r.knows = "", r.knows || !failed
	r.mu.Unlock()
	if !failed {
		r.client.Settled(res.Version)
	}
}
