package child

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// The messages between us and a guard. Each request but opForget and opDrop has one answer, with
// the same serial. saidEnded is sent without a request.
const (
	opStart  = iota + 1 // value: see startHere; in the answer: the process id, or a negative errno
	opSignal            // value: the signal; in the answer: how many processes live
	opSpare
	opForget
	opRest // value in the answer: 1 if nothing is left below the guard, which then ends
	opKeep // value: a number for the file that comes along; in the answer: 0, or a negative errno
	opDrop // value: the number of the file
	saidAnswer
	saidEnded // value: the wait status; serial: 1 if nothing of the program's group is left, which is then forgotten
)

// The value of opStart has a bit for each stream that comes along, and startHere for a program that
// stays in the session, in the process group whose number is from bit startGroup on. That is 0
// where our group belongs to a process that the system hides from us; the guard is in it then.
const (
	startHere  = 1 << 3
	startGroup = 4
)

// message is a request, an answer or a report. mark names the program that it is about.
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

// program describes a program for a guard to start. Its folder and its streams are passed
// as descriptors, in this order. In a sandbox the folder is looked up by its name: a descriptor of
// a folder outside would be a way out.
type program struct {
	path, dir string
	args, env []string
}

func (p program) encode() []byte {
	b := appendText(appendText(nil, p.path), p.dir)
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

var errMessage = errors.New("the message is malformed")

func decodeProgram(b []byte) (p program, err error) {
	if p.path, b, err = cutText(b); err != nil {
		return p, err
	}
	if p.dir, b, err = cutText(b); err != nil {
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

// maxFiles is the most descriptors that come with a request: a program's folder and its streams.
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

// descriptor is a blocking file descriptor as an io.Reader.
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
