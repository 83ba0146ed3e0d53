package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dragoman/cmd/internal/integrity"
)

// Retire notes that an agent's folder is used by no configuration any more, and removes it if no program
// of it runs.
func Retire(dir string, f integrity.Folder) error {
	if err := f.Retire(time.Now().UTC()); err != nil {
		return err
	}
	_, err := Sweep(dir)
	return err
}

// Sweep removes what was not installed to its end, and the folders that are retired and of which no
// program runs. It returns those that are retired and still in use.
func Sweep(dir string) (used []string, err error) {
	if _, missing := os.Stat(dir); missing != nil {
		return nil, nil //nolint:nilerr // nothing was installed
	}
	lock, err := lockAgents(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return sweepLocked(dir)
}

// sweepLocked is Sweep for who has the lock.
func sweepLocked(dir string) (used []string, err error) {
	agents, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if !a.IsDir() {
			continue
		}
		entries, unread := os.ReadDir(filepath.Join(dir, a.Name()))
		err = errors.Join(err, unread)
		for _, e := range entries {
			path := filepath.Join(dir, a.Name(), e.Name())
			f := integrity.Folder{Path: path}
			switch {
			case !e.IsDir() && strings.HasPrefix(e.Name(), ".download-"):
				err = errors.Join(err, os.Remove(path)) // that was interrupted
				continue
			case !e.IsDir():
				continue
			}
			m, broken := f.Manifest()
			_, there := os.Stat(path + ".json")
			switch {
			case broken != nil && there == nil: // a person has to look at it
			case broken != nil:
				err = errors.Join(err, f.Remove())
			case m.Retired.IsZero():
			case inUse(path, m.Retired):
				used = append(used, path)
			default:
				err = errors.Join(err, f.Remove())
			}
		}
		_ = os.Remove(filepath.Join(dir, a.Name())) // only an empty folder goes
	}
	return used, err
}
