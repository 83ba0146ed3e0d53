package configs

import (
	"io/fs"
	"os"
	"time"
)

// Sighting is what was seen of a file without reading it. The zero value is a file
// that is not there. Two of the same file are compared with ==.
type Sighting struct {
	mode fs.FileMode
	size int64
	time time.Time
}

// SightingOf looks at a file. One that cannot be looked at counts as not there.
func SightingOf(path string) Sighting {
	info, err := os.Stat(path)
	if err != nil {
		return Sighting{}
	}
	return Sighting{info.Mode(), info.Size(), info.ModTime()}
}

// Sightings are those of several files, by path.
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

// Changed reports whether a file differs by now, or has come or gone.
func (s Sightings) Changed() bool {
	for path, was := range s {
		if SightingOf(path) != was {
			return true
		}
	}
	return false
}
