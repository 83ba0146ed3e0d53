package configs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"dragoman/core/datadir"
)

const (
	// lockPatience limits the wait for changes by other processes. A change takes milliseconds.
	lockPatience = 30 * time.Second
	// maxRaces limits the repetitions of an edit because the file has changed in the meantime.
	maxRaces = 5
)

// EditServers makes edits in the mcp.json that Load would read, and returns its path. It creates
// a missing file, and does not change one that would become invalid. The file, or the target if
// it is a link, is replaced atomically and as a whole, and is readable only by its owner.
// Concurrent changes by others are not lost: the edits are repeated on them. It blocks while
// another process does the same, for half a minute at most.
func EditServers(ctx context.Context, o Options, edits ...Edit) (path string, err error) {
	return serverFile().save(ctx, o, edits)
}

// EditAgents is EditServers for agents.json.
func EditAgents(ctx context.Context, o Options, edits ...AgentEdit) (path string, err error) {
	return agentFile().save(ctx, o, edits)
}

func (f *listing[T]) save(ctx context.Context, o Options, edits []edit[T]) (path string, err error) {
	if path = o.beside(f.file); path == "" {
		return "", errors.New("HOME is not set, so " + f.file + " has no default path; name a configuration file with --config")
	}
	user, err := o.yaml()
	if err != nil {
		return path, err
	}
	target, err := behindLinks(path)
	if err != nil {
		return path, fmt.Errorf("change %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return path, fmt.Errorf("create the folder of %s: %w", path, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, errors.New("another process keeps changing it"))
	defer cancel()
	lock, err := datadir.WaitLock(ctx, target+".lock")
	if err != nil {
		return path, fmt.Errorf("change %s: %w", path, err)
	}
	err = f.changeLocked(path, target, user, edits)
	return path, errors.Join(err, lock.Remove())
}

// yaml reads the user's YAML, whose entries no command changes; nil: there is none. It is an
// error if the YAML cannot be parsed, because its entries are unknown then.
func (o Options) yaml() (*Config, error) {
	path := o.Path
	if path == "" {
		path = userFile(o.ConfigDir, o.Env)
	}
	user, problems := readLayer(path)
	if user != nil && len(problems) > 0 && len(user.where) == 0 {
		return nil, asError(problems)
	}
	return user, nil
}

func (f *listing[T]) changeLocked(path, target string, user *Config, edits []edit[T]) error {
	old, _, err := readWhole(target)
	for range maxRaces {
		if err != nil {
			return fmt.Errorf("change %s: %w", path, err)
		}
		var next, now []byte
		if next, err = f.apply(path, old, user, edits); err != nil || bytes.Equal(old, next) {
			return err
		}
		if now, _, err = readWhole(target); err == nil && bytes.Equal(now, old) {
			return datadir.Replace(target, next)
		}
		old = now
	}
	return fmt.Errorf("change %s: somebody else keeps changing it", path)
}

// behindLinks resolves the links of a path; the target need not exist.
func behindLinks(path string) (string, error) {
	for range 40 {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link, or missing
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errors.New("it is a link that leads nowhere")
}
