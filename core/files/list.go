package files

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core/workspace"
)

// maxListed limits the names of one folder that List reads.
const maxListed = 5_000

// List returns the entries of the folder at p whose names start with begin: folders first.
// Names that start with a dot are left out unless begin does too; denied paths are left
// out as well. dir is the name of the folder in the results. A folder that cannot be
// listed is empty.
func (p Place) List(dir, begin string, most int, denied func(real string) bool) []workspace.FileName {
	if denied(p.Real) {
		return nil
	}
	folder, err := p.Folder()
	if err != nil {
		return nil
	}
	defer folder.Close()
	entries, _ := folder.Read(maxListed) // as many as can be read
	var list []workspace.FileName
	for _, e := range entries {
		n := e.Name
		real := filepath.Join(p.Real, n)
		if !begins(n, begin) || denied(real) {
			continue
		}
		kind := Target(e.Kind, func() (fs.FileInfo, error) { return os.Stat(real) })
		if kind.IsRegular() || kind.IsDir() {
			list = append(list, workspace.FileName{Path: filepath.Join(dir, n), Folder: kind.IsDir()})
		}
	}
	slices.SortFunc(list, func(a, b workspace.FileName) int {
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

// begins reports whether a name starts with the typed text.
func begins(name, typed string) bool {
	if len(name) < len(typed) || !strings.EqualFold(name[:len(typed)], typed) {
		return false
	}
	return name[0] != '.' || strings.HasPrefix(typed, ".")
}

// Target returns the type of an entry, or of the target if it is a link.
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
