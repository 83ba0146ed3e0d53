package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"dragoman/adapters/wire"
)

// instance is this program, started again as by an editor: of our environment it gets only the
// search path for programs.
type instance struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
	began   time.Time
	serving sync.WaitGroup

	mu     sync.Mutex // guards the field below
	stderr []byte
}

func startInstance(
	ctx context.Context,
	self string, args []string, workspace, home string,
	env func(string) (string, bool),
) (*instance, error) {
	c := &instance{cmd: exec.CommandContext(ctx, self, args...)}
	c.cmd.Dir, c.cmd.Env, c.cmd.Stderr = workspace, cleanEnv(home, env), c
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	// A child that is asked to end gets a moment for it before it is killed.
	c.cmd.Cancel = c.in.Close
	c.cmd.WaitDelay = 2 * time.Second
	c.began = time.Now()
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s %s: %w", self, args[0], err)
	}
	return c, nil
}

// cleanEnv returns the variables that a program needs to run, without keys, endpoints and settings.
func cleanEnv(home string, env func(string) (string, bool)) []string {
	vars := []string{"HOME=" + home, "TMPDIR=" + filepath.Dir(home)}
	keep := []string{"PATH", "LANG"}
	if runtime.GOOS == "windows" {
		vars = append(vars, "USERPROFILE="+home, "APPDATA="+home, "LOCALAPPDATA="+home)
		keep = append(keep, "SystemRoot", "ComSpec", "PATHEXT")
	}
	for _, name := range keep {
		if v, ok := env(name); ok {
			vars = append(vars, name+"="+v)
		}
	}
	return vars
}

// Write receives the child's standard error, and keeps the end of it.
func (c *instance) Write(b []byte) (int, error) {
	const most = 4 << 10
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stderr = append(c.stderr, b...)
	c.stderr = c.stderr[max(0, len(c.stderr)-most):]
	return len(b), nil
}

func (c *instance) complaints() string {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimSpace(string(c.stderr))
}

// connect connects to the child; handle gets the requests and notifications that it sends.
func (c *instance) connect(ctx context.Context, framing wire.Framing, handle func(*wire.Call)) *wire.Conn {
	conn := wire.NewConn(c.out, c.in, wire.Options{Framing: framing})
	c.serving.Go(func() { _ = conn.Serve(ctx, handle) }) // the requests show a failure
	return conn
}

// end closes the child's standard input and waits until it has ended.
func (c *instance) end() error {
	_ = c.in.Close() // it may be closed already
	c.serving.Wait()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("the program did not end well: %w", err)
	}
	return nil
}

// params decodes the child's message. Fields that cannot be decoded stay empty; the act notices
// that.
func params[P any](call *wire.Call) P {
	var p P
	_ = json.Unmarshal(call.Params, &p)
	return p
}
