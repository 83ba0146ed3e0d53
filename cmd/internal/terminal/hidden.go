package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// maxHidden limits an invisible line, in bytes. Terminals edit lines of 4 KiB.
const maxHidden = 16 << 10

// ReadHidden reads a line from a terminal, which does not show it, and returns it without the
// blanks around it. what names it in errors. SIGINT and SIGTERM end the reading with an error.
func ReadHidden(in *os.File, what string) (string, error) {
	// From before the terminal is changed until after it is restored, no signal ends the process.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupted)
	restore, err := hideInput(in)
	if err != nil {
		return "", fmt.Errorf(
			"the terminal shows what is typed, so no %s is asked for (%w); give it through a pipe",
			what,
			err,
		)
	}
	defer restore()
	type answer struct {
		line string
		err  error
	}
	// The reader of an interrupted input stays behind: the process is about to end.
	typed := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(io.LimitReader(in, maxHidden)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		typed <- answer{strings.TrimSpace(line), err}
	}()
	select {
	case got := <-typed:
		if got.err != nil {
			return "", fmt.Errorf("read the %s: %w", what, got.err)
		}
		return got.line, nil
	case <-interrupted:
		return "", errors.New("interrupted; nothing was changed")
	}
}
