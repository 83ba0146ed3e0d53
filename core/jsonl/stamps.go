package jsonl

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	stampsName = "dragoman folders"
	// stampsMost limits the file of stamps, in bytes.
	stampsMost = 8 << 20
	// stampsFrom is the number of logs that a list has looked at from which it keeps what it has found.
	stampsFrom = 64
)

// stamps are the folders whose logs are known to agree with the beginning of an index, for other processes: so their
// first list need not look at each log either.
type stamps struct {
	Format  string           `json:"format"`
	Version int              `json:"version"`
	Size    int64            `json:"size"` // of that beginning
	End     string           `json:"end"`  // its end, as in catalog
	Folders map[string]stamp `json:"folders"`
}

// stamp records the state of a folder at the last look.
type stamp struct {
	At    int64    `json:"t"`           // folder.at, in nanoseconds
	Owned []string `json:"o,omitempty"` // folder.owned
}

func stampsPath(root string) string { return filepath.Join(root, "index.folders") }

// readStamps reads the stamps for an index; without any it returns the zero value.
func readStamps(root string, index io.ReaderAt) (s stamps) {
	f, err := openFile(stampsPath(root), os.O_RDONLY)
	if err != nil {
		return stamps{}
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, stampsMost))
	if err != nil || len(b) == 0 {
		return stamps{}
	}
	object, ok := unseal(b[:len(b)-1])
	if !ok || json.Unmarshal(object, &s) != nil || s.Format != stampsName || s.Version != 1 || s.Size < int64(len(s.End)) {
		return stamps{}
	}
	end := make([]byte, len(s.End))
	if _, err := index.ReadAt(end, s.Size-int64(len(end))); err != nil || string(end) != s.End {
		return stamps{} // it was rewritten, or a loss of power has cut it
	}
	return s
}

// folder returns a folder by its stamp.
func (s stamps) folder(name string) *folder {
	f := &folder{name: name}
	if is, ok := s.Folders[name]; ok {
		f.at, f.owned = time.Unix(0, is.At), map[string]bool{}
		for _, key := range is.Owned {
			f.owned[key] = true
		}
	}
	return f
}

// stamps returns the folders whose sessions are all known to agree with the index, but for those that are owned.
func (c *catalog) stamps() stamps {
	s := stamps{Format: stampsName, Version: 1, Size: c.size, End: c.end, Folders: map[string]stamp{}}
	for name, f := range c.folders {
		unsure := func(p *place) bool { return p.length != p.entry.Log && !f.owned[p.key] }
		if !f.at.IsZero() && !slices.ContainsFunc(f.places, unsure) {
			s.Folders[name] = stamp{f.at.UnixNano(), slices.Sorted(maps.Keys(f.owned))}
		}
	}
	return s
}

// keepStamps writes the stamps of the catalog.
func (s *Store) keepStamps(ctx context.Context, root string) error {
	done, err := s.catalogue(ctx)
	if err != nil {
		return err
	}
	all := s.catalog.stamps()
	done()
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return s.disk.replace(stampsPath(root), seal(b, 0), false)
}
