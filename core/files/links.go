package files

import (
	"io/fs"
	"os"
	"syscall"
)

// maxLinked limits the names of a folder that Links looks at.
const maxLinked = 5000

// Links lists the names of the symbolic links in a folder, of its first few thousand names. It
// opens nothing else; without a folder there are none.
func Links(dir string) (names []string) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe, which nobody writes to
	if err != nil {
		return nil
	}
	defer f.Close()                 //nolint:errcheck // the folder was only read
	list, _ := f.ReadDir(maxLinked) // what was read before an error counts
	for _, e := range list {
		if e.Type()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			names = append(names, e.Name())
		}
	}
	return names
}
