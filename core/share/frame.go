package share

import (
	"bufio"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2/channel"
)

const (
	// maxMessage limits a message, in bytes: a prompt with its images. maxGreeting limits one of a process
	// that has not named the key.
	maxMessage  = 64 << 20
	maxGreeting = 16 << 10
	// writeFor is the time for a message to be taken by the other process. One that takes nothing for
	// so long has stopped, and its connection ends.
	writeFor = 10 * time.Second
)

// frames sends and receives one JSON message a line, over a connection. It implements channel.Channel.
type frames struct {
	conn net.Conn
	in   *bufio.Reader
	most atomic.Int64 // bytes of a message that is received
}

var _ channel.Channel = (*frames)(nil)

func newFrames(conn net.Conn, most int64) *frames {
	f := &frames{conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}
	f.most.Store(most)
	return f
}

// Send implements channel.Channel.
func (f *frames) Send(msg []byte) error {
	if err := f.conn.SetWriteDeadline(time.Now().Add(writeFor)); err != nil {
		return err
	}
	_, err := f.conn.Write(append(msg, '\n'))
	if err != nil { // a part of a message may have been sent
		_ = f.conn.Close()
	}
	return err
}

// Recv implements channel.Channel.
func (f *frames) Recv() ([]byte, error) {
	var msg []byte
	for {
		part, err := f.in.ReadSlice('\n')
		if int64(len(msg)+len(part)) > f.most.Load() {
			return nil, errors.New("the message is too long")
		}
		msg = append(msg, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return msg, err
		}
	}
}

// Close implements channel.Channel.
func (f *frames) Close() error { return f.conn.Close() }
