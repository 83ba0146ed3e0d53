package integrity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dragoman/core/datadir"
)

// Manifest describes an installed agent.
type Manifest struct {
	ID      string `json:"id"` // in the registry
	Name    string `json:"name"`
	Version string `json:"version"`
	License string `json:"license,omitempty"`
	Source  string `json:"source"` // the package or the address, for people
	SHA256  string `json:"sha256,omitempty"`

	Installed time.Time `json:"installed"`
	Retired   time.Time `json:"retired,omitzero"` // when another version took its place, or it was removed
	Files     Tree      `json:"files"`
}

// Folder is the folder of an installed agent, DIR/ID/VERSION. Its manifest is beside it, and makes it one: a folder
// without a manifest was not installed to its end.
type Folder struct{ Path string }

// FolderOf returns the folder of an installed agent in which a file is; dir has those of all agents, and
// is empty if there are none.
func FolderOf(dir, file string) (f Folder, ok bool) {
	if dir == "" {
		return f, false
	}
	for _, base := range []string{dir, real(dir)} {
		rel, err := filepath.Rel(base, file)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		parts := strings.SplitN(rel, string(filepath.Separator), 3)
		if len(parts) == 3 {
			return Folder{filepath.Join(base, parts[0], parts[1])}, true
		}
	}
	return f, false
}

// real resolves the links of a path as far as it can.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// file returns the path of the manifest.
func (f Folder) file() string { return f.Path + ".json" }

// maxManifest limits a manifest, in bytes.
const maxManifest = 64 << 20

// Manifest reads the manifest.
func (f Folder) Manifest() (m Manifest, err error) {
	data, _, err := datadir.Read(f.file(), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%s has no manifest", f.Path)
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("read the manifest %s: %w", f.file(), err)
	}
	return m, nil
}

// Keep writes the manifest.
func (f Folder) Keep(m Manifest) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return datadir.Replace(f.file(), append(data, '\n'))
}

// Retire notes that the folder is used by no configuration any more.
func (f Folder) Retire(now time.Time) error {
	m, err := f.Manifest()
	if err != nil {
		return err
	}
	m.Retired = now
	return f.Keep(m)
}

// Remove removes the folder and its manifest. The manifest is the first to go: what is left of a folder
// that cannot be removed as a whole is removed the next time.
func (f Folder) Remove() error {
	if err := os.Remove(f.file()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(f.Path)
}

// Check compares the folder with its manifest. Files that only have other times do not differ, and
// have them recorded.
func (f Folder) Check(ctx context.Context) (m Manifest, d Difference, err error) {
	m, d, now, err := f.compare(ctx)
	if err == nil && d.None() && !m.Files.equal(now) {
		m.Files = now
		_ = f.Keep(m) // else the next start reads them again
	}
	return m, d, err
}

func (f Folder) compare(ctx context.Context) (m Manifest, d Difference, now Tree, err error) {
	if m, err = f.Manifest(); err != nil {
		return m, d, nil, err
	}
	d, now, err = m.Files.Compare(ctx, f.Path)
	return m, d, now, err
}
