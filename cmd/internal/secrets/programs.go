package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"dragoman/core/child"
)

const (
	keyProgramTime = 30 * time.Second // a person may have to touch a security key
	keyProgramText = 64 << 10         // the limit of the output, in bytes
	keyKept        = 5 * time.Minute  // some programs ask their user each time
)

// Programs runs the programs in the user's configuration that print keys, and caches their output
// for a while, because a key is looked up with each request.
type Programs struct {
	mu   sync.Mutex // guards the fields below
	runs map[string]*keyRun
}

// keyRun is a program's run. Its other fields are set once done is closed.
type keyRun struct {
	done chan struct{}
	text string
	err  error
	at   time.Time
}

// NewPrograms returns programs that have not run yet.
func NewPrograms() *Programs { return &Programs{runs: map[string]*keyRun{}} }

// Run is a configs.Run. One of several callers runs the program and the others wait; a failure is
// not cached.
func (k *Programs) Run(ctx context.Context, dir string, args []string) (string, error) {
	name := dir + "\x00" + strings.Join(args, "\x00")
	for {
		k.mu.Lock()
		r := k.runs[name]
		if r == nil || r.stale() {
			r = &keyRun{done: make(chan struct{})}
			k.runs[name] = r
			k.mu.Unlock()
			r.text, r.err = runForKey(ctx, dir, args)
			r.at = time.Now()
			close(r.done)
			return r.text, r.err
		}
		k.mu.Unlock()
		select {
		case <-r.done:
			if r.err == nil {
				return r.text, nil
			}
			// Its caller may have left; the next run belongs to this caller.
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// stale reports whether the run is over and its result must not be used any more.
func (r *keyRun) stale() bool {
	select {
	case <-r.done:
		return r.err != nil || time.Since(r.at) > keyKept
	default:
		return false
	}
}

// runForKey runs a program without a shell, a terminal or input, and returns its output.
// All its child processes end with it. Its error output may contain anything, so it is never
// shown.
func runForKey(ctx context.Context, dir string, args []string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, keyProgramTime, errKeyTime)
	defer cancel()
	path, err := exec.LookPath(args[0])
	if err != nil {
		return "", errors.New("there is no such program, or it cannot be run")
	}
	cmd := exec.Command(path, args[1:]...)
	out := &keyText{cancel: cancel}
	cmd.Dir, cmd.Stdout, cmd.WaitDelay = dir, out, time.Second
	how, err := child.Run(ctx, cmd)
	switch {
	case out.much:
		return "", fmt.Errorf("the program printed more than %d KiB", keyProgramText>>10)
	case errors.Is(context.Cause(ctx), errKeyTime):
		return "", errKeyTime
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", errors.New("the program could not be run")
	case !how.Success():
		return "", fmt.Errorf("the program failed (%s); run it in a terminal to see why", how)
	}
	return out.text.String(), nil
}

var errKeyTime = fmt.Errorf("the program did not end within %v", keyProgramTime)

// keyText collects the output of a program, and ends a program that prints too much.
type keyText struct {
	text   bytes.Buffer // not embedded: its ReadFrom would accept any amount
	cancel context.CancelFunc
	much   bool
}

// Write implements io.Writer.
func (t *keyText) Write(p []byte) (int, error) {
	if t.text.Len()+len(p) > keyProgramText {
		t.much = true
		t.cancel()
		return 0, errors.New("too much was printed")
	}
	return t.text.Write(p)
}
