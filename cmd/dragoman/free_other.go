//go:build !linux && !darwin && !windows

package main

// freeSpace is not known here.
func freeSpace(string) (uint64, bool) { return 0, false }
