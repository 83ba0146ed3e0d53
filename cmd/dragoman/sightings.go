package main

import (
	"io/fs"
	"os"
	"time"
)

// sighting is what was seen of a file without reading it. The zero value is a file
// that is not there.
type sighting struct {
	mode fs.FileMode
	size int64
	time time.Time
}

func seenOf(path string) sighting {
	info, err := os.Stat(path)
	if err != nil {
		return sighting{}
	}
	return sighting{info.Mode(), info.Size(), info.ModTime()}
}

// sightings are those of several files, by path.
type sightings map[string]sighting

func allSeen(paths ...string) sightings {
	s := sightings{}
	for _, p := range paths {
		if p != "" {
			s[p] = seenOf(p)
		}
	}
	return s
}

// changed reports whether a file differs by now, or has come or gone.
func (s sightings) changed() bool {
	for path, was := range s {
		if seenOf(path) != was {
			return true
		}
	}
	return false
}
