package files

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core"
)

// maxListed is how many names of one folder List looks at.
const maxListed = 5_000

// List lists what in the folder at p begins with a name: folders first. Names that
// begin with a dot are left out unless they are asked for, and so is what is denied.
// dir names the folder in what is found. What cannot be listed has nothing in it.
func (p Place) List(dir, begin string, most int, denied func(real string) bool) []core.FileName {
	if denied(p.Real) {
		return nil
	}
	folder, err := p.Folder()
	if err != nil {
		return nil
	}
	defer folder.Close()
	entries, _ := folder.Read(maxListed) // as many as can be read
	var list []core.FileName
	for _, e := range entries {
		n := e.Name()
		real := filepath.Join(p.Real, n)
		if !begins(n, begin) || denied(real) {
			continue
		}
		kind := Target(e.Type(), func() (fs.FileInfo, error) { return os.Stat(real) })
		if kind.IsRegular() || kind.IsDir() {
			list = append(list, core.FileName{Path: filepath.Join(dir, n), Folder: kind.IsDir()})
		}
	}
	slices.SortFunc(list, func(a, b core.FileName) int {
		if a.Folder != b.Folder {
			if a.Folder {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Path, b.Path)
	})
	return list[:min(len(list), most)]
}

// begins reports whether a name begins with what was typed of it.
func begins(name, typed string) bool {
	if len(name) < len(typed) || !strings.EqualFold(name[:len(typed)], typed) {
		return false
	}
	return name[0] != '.' || strings.HasPrefix(typed, ".")
}

// Target is what an entry is, or the link that it is leads to.
func Target(kind fs.FileMode, stat func() (fs.FileInfo, error)) fs.FileMode {
	if kind&fs.ModeSymlink == 0 {
		return kind
	}
	info, err := stat()
	if err != nil {
		return fs.ModeIrregular
	}
	return info.Mode().Type()
}
