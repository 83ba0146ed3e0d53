package jsonl

import (
	"io/fs"
	"os"
)

// checkOwner leaves the decision to the folder's access list, which a folder in the
// user's profile inherits.
func checkOwner(string, fs.FileInfo) error { return nil }

// truncate cuts a file that is open for appending, which does not include the right to
// do so here.
func truncate(f *os.File, size int64) error { return os.Truncate(f.Name(), size) }

// linked is always true: an open file cannot be removed here.
func linked(fs.FileInfo) bool { return true }
