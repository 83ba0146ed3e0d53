//go:build unix && !aix && !solaris

package terminal

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a terminal that leaves lines, erasing and pastes to us (keys), and passes on each
// key at once. So we know which input came before a question, and a line may be longer than the 4
// KiB that a terminal edits. Ctrl-C and Ctrl-Z still send signals.
type terminal struct {
	conn  syscall.RawConn
	write func(string) // to the terminal itself
	echo  bool         // typed text is shown
	marks bool         // pastes are put between marks

	resized, resumed func()

	// Used by one goroutine at a time: first the one that listens, then the owner.
	was  unix.Termios
	left bool // the terminal was restored
}

// openTerminal makes a terminal pass on its keys until leave is called; nil: in is not a
// terminal. It listens to the signals that stop or end the process, so that a shell finds its
// terminal unchanged. It calls resized when the size of the window has changed, and resumed when the
// process goes on after a stop. leave may be called twice.
func openTerminal(in io.Reader, smart bool, resized, resumed func()) (t *terminal, k keys, leave func()) {
	file, ok := in.(interface {
		syscall.Conn
		io.Writer
	})
	if !ok {
		return nil, keys{}, func() {}
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, keys{}, func() {}
	}
	t = &terminal{conn: conn, marks: smart, resized: resized, resumed: resumed}
	t.write = func(s string) { _, _ = io.WriteString(file, s) } // a terminal that is gone needs no text
	err = t.control(func(fd int) error {
		was, err := unix.IoctlGetTermios(fd, getTermios)
		if err == nil {
			t.was = *was
		}
		return err
	})
	if err != nil {
		return nil, keys{}, func() {}
	}
	t.echo = t.was.Lflag&unix.ECHO != 0
	t.enter()
	cc := t.was.Cc
	k = keys{
		erase: key(cc[unix.VERASE]),
		word:  key(cc[unix.VWERASE]),
		kill:  key(cc[unix.VKILL]),
		end:   key(cc[unix.VEOF]),
	}
	stop := t.listen()
	return t, k, sync.OnceFunc(func() { stop(); t.leave() })
}

// key converts a key from the terminal's settings; some systems write 0xff for none.
func key(b byte) byte {
	if b == 0xff {
		return 0
	}
	return b
}

// control calls f with the terminal's descriptor.
func (t *terminal) control(f func(fd int) error) error {
	var err error
	if conErr := t.conn.Control(func(fd uintptr) { err = f(int(fd)) }); conErr != nil {
		return conErr
	}
	return err
}

func (t *terminal) enter() {
	keysOnly := t.was
	keysOnly.Lflag &^= unix.ICANON | unix.ECHO | unix.IEXTEN // the last one takes Ctrl-V and Ctrl-Y
	keysOnly.Lflag |= unix.ISIG
	keysOnly.Cc[unix.VMIN], keysOnly.Cc[unix.VTIME] = 1, 0
	_ = t.control(func(fd int) error { return unix.IoctlSetTermios(fd, setTermios, &keysOnly) }) // the terminal may be gone
	t.left = false
	if t.marks {
		t.write("\x1b[?2004h")
	}
}

// leave restores the terminal.
func (t *terminal) leave() {
	if t.left {
		return
	}
	t.left = true
	if t.marks {
		t.write("\x1b[?2004l")
	}
	_ = t.control(func(fd int) error { return unix.IoctlSetTermios(fd, setTermios, &t.was) }) // the terminal may be gone
}

// listen leaves the terminal when the process is stopped or asked to end.
func (t *terminal) listen() (stop func()) {
	came := make(chan os.Signal, 6) // room for one of each kind
	for _, s := range []os.Signal{syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) { // an ignored one must not end us: nohup
			signal.Notify(came, s)
		}
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case s := <-came:
				switch s {
				case syscall.SIGWINCH:
					t.resized()
					continue
				case syscall.SIGCONT: // the shell has set its own mode meanwhile
					t.enter()
					t.resumed()
					continue
				}
				t.leave()
				switch s {
				case syscall.SIGTSTP:
					_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // this may return before the process stops
				case syscall.SIGQUIT:
					signal.Reset(syscall.SIGQUIT)
					_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT)
				}
			case <-over:
				return
			}
		}
	})
	return func() {
		signal.Stop(came)
		close(over)
		wg.Wait()
	}
}

// escWait limits the time in which the rest of a key follows the character of Esc.
const escWait = 100 * time.Millisecond

// read reads input until the terminal is closed or gone.
func (t *terminal) read(in *input) {
	_ = t.conn.Read(func(fd uintptr) bool { // the kind of end makes no difference
		over := t.drain(in)
		for !over && in.escaping() {
			if ready(int(fd), escWait) {
				over = t.drain(in)
			} else {
				in.escape()
			}
		}
		return over
	})
}

// ready reports whether there is input, and waits for it.
func ready(fd int, wait time.Duration) bool {
	for end := time.Now().Add(wait); ; {
		left := max(time.Until(end), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int((left+time.Millisecond-1)/time.Millisecond))
		if !errors.Is(err, unix.EINTR) {
			return err != nil || n > 0
		}
	}
}

// drain reads everything that has been typed up to now, and reports whether the input has
// ended.
func (t *terminal) drain(in *input) (over bool) {
	// The lock is held because reading and numbering must be one step. Nothing here waits.
	in.mu.Lock()
	defer in.mu.Unlock()
	err := t.control(func(fd int) error {
		buf := make([]byte, 4096)
		for {
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(ready, 0)
			if err == nil && n == 0 {
				return nil
			}
			if err == nil {
				n, err = unix.Read(fd, buf)
			}
			switch {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				return nil
			case err != nil:
				return err
			case n == 0:
				return io.EOF
			default:
				in.acceptLocked(buf[:n])
			}
		}
	})
	return err != nil
}

// hide does nothing: this terminal shows nothing that we do not write.
func (t *terminal) hide() (restore func()) { return func() {} }

// columns returns the width of the terminal in characters, or 80 if it is not known.
func (t *terminal) columns() int {
	n := 80
	_ = t.control(func(fd int) error {
		size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err == nil && size.Col > 0 {
			n = int(size.Col)
		}
		return err
	})
	return n
}
