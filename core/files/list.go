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

// List lists what in a folder begins with a name: folders first. Names that
// begin with a dot are left out unless they are asked for, and so is what is denied.
func List(dir, name string, most int, denied func(real string) bool) []core.FileName {
	real, err := resolve(dir)
	if err != nil || refusePseudo(real) != nil || denied(real) {
		return nil
	}
	f, err := os.OpenFile(real, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxListed) // what can be read of it
	var list []core.FileName
	for _, e := range entries {
		n := e.Name()
		if len(n) < len(name) || !strings.EqualFold(n[:len(name)], name) || n[0] == '.' && !strings.HasPrefix(name, ".") || denied(filepath.Join(real, n)) {
			continue
		}
		if kind := Target(e.Type(), func() (fs.FileInfo, error) { return os.Stat(filepath.Join(real, n)) }); kind.IsRegular() || kind.IsDir() {
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
