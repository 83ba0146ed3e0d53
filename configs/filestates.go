package configs

import (
	"io/fs"
	"os"
	"time"
)

// FileState is the state of a file, seen without reading it. The zero value means a missing
// file. Two of the same file can be compared with ==.
type FileState struct {
	mode fs.FileMode
	size int64
	time time.Time
}

// FileStateOf looks at a file. One that is not accessible counts as missing.
func FileStateOf(path string) FileState {
	info, err := os.Stat(path)
	if err != nil {
		return FileState{}
	}
	return FileState{info.Mode(), info.Size(), info.ModTime()}
}

// FileStates holds the states of several files, by path.
type FileStates map[string]FileState

// FileStatesOf looks at several files. Empty paths are left out.
func FileStatesOf(paths ...string) FileStates {
	s := FileStates{}
	for _, p := range paths {
		if p != "" {
			s[p] = FileStateOf(p)
		}
	}
	return s
}

// Changed reports whether a file is different now, or was created or removed.
func (s FileStates) Changed() bool {
	for path, was := range s {
		if FileStateOf(path) != was {
			return true
		}
	}
	return false
}
