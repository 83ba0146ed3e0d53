package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
)

// noteWaiting is the delay before a note says that standard input is being read.
const noteWaiting = 3 * time.Second

// ReadPrompt returns a prompt: a text, and below it everything on standard input, unless that is
// a terminal.
func ReadPrompt(ctx context.Context, env *program.Environment, text string) (string, error) {
	var piped string
	if !Is(env.In) {
		var err error
		if piped, err = readPiped(ctx, env); err != nil {
			return "", err
		}
	}
	if text, piped = strings.TrimSpace(text), strings.TrimRight(piped, "\r\n"); text != "" && piped != "" {
		text += "\n\n"
	}
	text = strings.ToValidUTF8(text+piped, "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return "", program.UsageError{Err: errors.New("there is no prompt: write one as an argument or on standard input")}
	}
	return text, nil
}

// readPiped reads standard input to its end, or until ctx ends.
func readPiped(ctx context.Context, env *program.Environment) (string, error) {
	in, err := wire.Stdin()
	if err != nil {
		return "", err
	}
	note := time.AfterFunc(noteWaiting, func() {
		fmt.Fprintln(env.Err, "Waiting for the end of standard input, which is added to the prompt.")
	})
	defer note.Stop()
	closed := context.AfterFunc(ctx, func() { in.Close() })
	b, err := io.ReadAll(io.LimitReader(in, maxLine+1))
	if !closed() {
		return "", stopped(ctx)
	}
	in.Close() //nolint:errcheck // it was only read
	switch {
	case err != nil:
		return "", fmt.Errorf("read standard input: %w", err)
	case len(b) > maxLine:
		return "", program.UsageError{Err: errors.New("standard input is longer than 1 MiB; write it to a file and name the file in the prompt")}
	}
	return string(b), nil
}

// stopped returns the error of a command whose context has ended.
func stopped(ctx context.Context) error {
	err := context.Cause(ctx)
	if s, ok := errors.AsType[program.Signal](err); ok {
		return s.Code()
	}
	return err
}
