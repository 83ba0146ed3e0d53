//go:build !linux

package sandbox

import "os"

// claimScratch makes a folder for temporary files.
func claimScratch(dir string) (*os.File, error) { return nil, os.MkdirAll(dir, 0o700) }

// sweepScratch does nothing: what is used is not marked here.
func sweepScratch(string) {}
