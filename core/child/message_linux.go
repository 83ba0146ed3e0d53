package child

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// What we and a guard say to each other. Each request has one answer, of the same
// serial, but opForget; saidEnded comes by itself.
const (
	opStart  = iota + 1 // Value: which files come along; the answer's: the program's number, or an error's as a negative number
	opSignal            // Value: the signal; the answer's: how many live
	opSpare
	opForget
	opRest // the answer's: 1 where nothing is left below the guard, which ends then
	saidAnswer
	saidEnded // Value: the system's wait status
)

// message is a request, an answer or news. Mark names the program that it is about.
type message struct {
	op     uint32
	size   uint32 // of what follows it: a program, encoded
	serial uint64
	mark   uint64
	value  int64
}

const messageSize = 32

func (m message) encode() []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, messageSize), m.op)
	b = binary.LittleEndian.AppendUint32(b, m.size)
	b = binary.LittleEndian.AppendUint64(b, m.serial)
	b = binary.LittleEndian.AppendUint64(b, m.mark)
	return binary.LittleEndian.AppendUint64(b, uint64(m.value))
}

func decodeMessage(b []byte) message {
	return message{
		op: binary.LittleEndian.Uint32(b), size: binary.LittleEndian.Uint32(b[4:]), serial: binary.LittleEndian.Uint64(b[8:]),
		mark: binary.LittleEndian.Uint64(b[16:]), value: int64(binary.LittleEndian.Uint64(b[24:])),
	}
}

// program is what a guard is to start. Its folder and its streams come as descriptors,
// in this order.
type program struct {
	path      string
	args, env []string
}

func (p program) encode() []byte {
	b := appendText(nil, p.path)
	for _, list := range [][]string{p.args, p.env} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			b = appendText(b, s)
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errMessage = errors.New("a message that is none")

func decodeProgram(b []byte) (p program, err error) {
	if p.path, b, err = cutText(b); err != nil {
		return p, err
	}
	for _, list := range []*[]string{&p.args, &p.env} {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)) {
			return p, errMessage
		}
		b = b[used:]
		for range n {
			var s string
			if s, b, err = cutText(b); err != nil {
				return p, err
			}
			*list = append(*list, s)
		}
	}
	return p, nil
}

func cutText(b []byte) (string, []byte, error) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return "", nil, errMessage
	}
	b = b[used:]
	return string(b[:n]), b[n:], nil
}

// maxFiles is how many descriptors come with a program: its folder and its streams.
const maxFiles = 4

// receive reads the next request and the descriptors that come with it, on a guard's
// side. The error is io.EOF when we have died or closed the guard.
func receive(socket int) (m message, body []byte, files []int, err error) {
	head, rights := make([]byte, messageSize), make([]byte, unix.CmsgSpace(4*maxFiles))
	n, got, _, _, err := retry(func() (int, int, int, unix.Sockaddr, error) {
		return unix.Recvmsg(socket, head, rights, unix.MSG_CMSG_CLOEXEC|unix.MSG_WAITALL)
	})
	switch {
	case err != nil:
		return m, nil, nil, fmt.Errorf("read a request: %w", err)
	case n == 0:
		return m, nil, nil, io.EOF
	case n < messageSize:
		return m, nil, nil, io.ErrUnexpectedEOF
	}
	list, err := unix.ParseSocketControlMessage(rights[:got])
	for _, c := range list {
		more, err := unix.ParseUnixRights(&c)
		if err == nil {
			files = append(files, more...)
		}
	}
	if err != nil {
		return m, nil, files, err
	}
	m = decodeMessage(head)
	body = make([]byte, m.size)
	_, err = io.ReadFull(descriptor(socket), body)
	return m, body, files, err
}

// descriptor reads what blocks.
type descriptor int

// Read implements io.Reader.
func (d descriptor) Read(b []byte) (int, error) {
	n, _, _, _, err := retry(func() (int, int, int, unix.Sockaddr, error) {
		n, err := unix.Read(int(d), b)
		return n, 0, 0, nil, err
	})
	if n == 0 && err == nil && len(b) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), err
}

func retry(f func() (int, int, int, unix.Sockaddr, error)) (n, got, flags int, from unix.Sockaddr, err error) {
	for {
		if n, got, flags, from, err = f(); !errors.Is(err, unix.EINTR) {
			return n, got, flags, from, err
		}
	}
}
