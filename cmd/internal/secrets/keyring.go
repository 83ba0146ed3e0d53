package secrets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/zalando/go-keyring"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core/child"
	"dragoman/core/display"
)

const (
	// ringService is our name in the keyring.
	ringService = "dragoman"
	// ringTime limits the time for an answer. A locked keyring may ask its user.
	ringTime = 5 * time.Second
	// ringText limits the answer, in bytes.
	ringText = 64 << 10
)

// AskKeyring sends a request to the system's keyring in this process: get, set or delete. A new
// secret is read from in. ErrNoSecret: there is none of that name. The library's calls may block
// for ever and cannot be ended, so SystemRing uses a process of its own.
func AskKeyring(verb, account string, in io.Reader) (string, error) {
	text, err := askKeyring(verb, account, in)
	if errors.Is(err, keyring.ErrNotFound) {
		err = ErrNoSecret
	}
	return text, err
}

func askKeyring(verb, account string, in io.Reader) (string, error) {
	switch verb {
	case "get":
		return keyring.Get(ringService, account)
	case "delete":
		return "", keyring.Delete(ringService, account)
	}
	secret, err := io.ReadAll(io.LimitReader(in, ringText))
	if err != nil {
		return "", err
	}
	return "", keyring.Set(ringService, account, string(secret))
}

// SystemRing returns the keyring of the system; nil: there is none, or the environment disables
// it.
func SystemRing(env configs.Env) Ring {
	if v, _ := env("DRAGOMAN_KEYRING"); v == "off" {
		return nil
	}
	r := childRing{environ: os.Environ()}
	switch runtime.GOOS {
	case "darwin", "windows":
		return r
	}
	if bus, _ := env("DBUS_SESSION_BUS_ADDRESS"); bus != "" {
		return r
	}
	// Without an address the library would start a bus that has no keyring.
	run, _ := env("XDG_RUNTIME_DIR")
	if info, err := os.Stat(filepath.Join(run, "bus")); run == "" || err != nil ||
		info.Mode()&os.ModeSocket == 0 {
		return nil
	}
	r.environ = append(r.environ, "DBUS_SESSION_BUS_ADDRESS=unix:path="+filepath.Join(run, "bus"))
	return r
}

// childRing accesses the keyring through a child process, which is killed if it takes too long,
// with all processes that the system's library has started there.
type childRing struct {
	program string // "": our own
	environ []string
	wait    time.Duration // 0: ringTime
}

// Get implements Ring.
func (r childRing) Get(ctx context.Context, account string) (string, error) {
	return r.ask(ctx, "", "get", account)
}

// Set implements Ring.
func (r childRing) Set(ctx context.Context, account, secret string) error {
	_, err := r.ask(ctx, secret, "set", account)
	return err
}

func (r childRing) ask(ctx context.Context, secret string, args ...string) (string, error) {
	name := r.program
	if name == "" {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		name = self
	}
	wait := cmp.Or(r.wait, ringTime)
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		wait,
		fmt.Errorf("the system keyring did not answer within %v", wait),
	)
	defer cancel()
	cmd := exec.Command(name, append([]string{"keyring"}, args...)...)
	out, said := &keyText{cancel: cancel}, &keyText{cancel: cancel}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(secret), out, said
	cmd.Env, cmd.WaitDelay = r.environ, time.Second
	how, err := child.Run(ctx, cmd)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", fmt.Errorf("the system keyring could not be used: %w", err)
	case how.Success():
		return out.text.String(), nil
	case how.Code == program.ExitNoSecret:
		return "", ErrNoSecret
	}
	return "", fmt.Errorf(
		"the system's keyring does not work: %s",
		display.Line(strings.TrimPrefix(said.text.String(), "dragoman: "), 200),
	)
}
