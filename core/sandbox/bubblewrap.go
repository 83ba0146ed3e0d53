package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"dragoman/core/child"
)

// bubblewraps are the places where systems install bubblewrap. PATH may lead to somebody else's.
var bubblewraps = []string{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/wrappers/bin/bwrap", "/run/current-system/sw/bin/bwrap"}

// bubblewrap is the program of that name. It makes the namespaces for us on systems that allow it to
// and refuse it to us, such as Ubuntu by AppArmor. What it starts has no rights there, so that it builds
// the view of files as well.
type bubblewrap struct {
	Program string
	Layers  bool // it can make layers
}

var errNoBubblewrap = errors.New("bubblewrap is not installed")

// tryBubblewrap looks for a bubblewrap that works. errNoBubblewrap: there is none.
func (s *System) tryBubblewrap() error {
	err := errNoBubblewrap
	for _, path := range s.bubblewraps {
		if _, missing := os.Stat(path); missing != nil {
			continue
		}
		for _, layers := range []bool{true, false} {
			b := &bubblewrap{path, layers}
			if err = s.attempt(child.Full, b); err == nil {
				s.through.Store(b)
				return nil
			}
		}
	}
	return err
}

// bubblewrapFailed returns why a sandbox that bubblewrap was to make has not come to be.
func bubblewrapFailed(err error, said string) error {
	said = strings.TrimSpace(said)
	if err == nil {
		err = errors.New("it has ended")
	}
	if said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return fmt.Errorf("bubblewrap: %w", err)
}
