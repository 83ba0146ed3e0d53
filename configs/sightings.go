package configs

import (
	"io/fs"
	"os"
	"time"
)

// Sighting is the state of a file as seen without reading it. The zero value means a missing
// file. Two of the same file can be compared with ==.
type Sighting struct {
	mode fs.FileMode
	size int64
	time time.Time
}

// SightingOf looks at a file. One that is not accessible counts as missing.
func SightingOf(path string) Sighting {
	info, err := os.Stat(path)
	if err != nil {
		return Sighting{}
	}
	return Sighting{info.Mode(), info.Size(), info.ModTime()}
}

// Sightings holds the sightings of several files, by path.
type Sightings map[string]Sighting

// SightingsOf looks at several files. Empty paths are left out.
func SightingsOf(paths ...string) Sightings {
	s := Sightings{}
	for _, p := range paths {
		if p != "" {
			s[p] = SightingOf(p)
		}
	}
	return s
}

// Changed reports whether a file is different now, or was created or removed.
func (s Sightings) Changed() bool {
	for path, was := range s {
		if SightingOf(path) != was {
			return true
		}
	}
	return false
}
