//go:build !unix || aix || solaris

package terminal

import (
	"bufio"
	"io"
	"os"
)

// terminal is a terminal that edits lines by itself, as a Windows console does. A
// paste comes as its lines.
type terminal struct {
	file *os.File
	echo bool // false: the terminal shows the typed text
}

// openTerminal returns nil if in is not a terminal. leave does nothing.
func openTerminal(in io.Reader, _ bool, _, _ func()) (t *terminal, k keys, leave func()) {
	if f, ok := in.(*os.File); ok && Is(f) {
		return &terminal{file: f}, keys{}, func() {}
	}
	return nil, keys{}, func() {}
}

// read reads input until the terminal is closed or gone.
func (t *terminal) read(in *input) {
	s := bufio.NewScanner(t.file)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		in.mu.Lock()
		in.lines = append(in.lines, inputLine{keyLine{pieces: []piece{{text: s.Text()}}}, in.gen})
		in.mu.Unlock()
		wake(in.came)
	}
}

// drain drops input that has not been read.
func (t *terminal) drain(*input) (over bool) {
	dropInput(t.file)
	return false
}

// hide keeps input from being shown.
func (t *terminal) hide() (restore func()) {
	if restore, err := hideInput(t.file); err == nil {
		return restore
	}
	return func() {}
}

func (t *terminal) columns() int { return 80 }
