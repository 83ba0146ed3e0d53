package servers

import (
	"context"

	"dragoman/cmd/internal/logs"
)

// ShowLogs prints the last lines (0: all) of the logs of servers, of all of them if none is
// named, and, if follow is set, new ones until ctx ends. A server without a log must be one of
// the configuration.
func (s *Store) ShowLogs(ctx context.Context, names []string, lines int, follow bool) error {
	dir, err := s.env.DataDir()
	if err != nil {
		return err
	}
	r := logs.NewReader(dir, names...)
	if len(names) > 0 && !r.Exists() {
		if _, _, err := s.Find(names[0]); err != nil {
			return err
		}
	}
	return r.Show(ctx, s.env.Out, s.env.Err, lines, follow)
}
