//go:build !linux

package jsonl

import "os"

// syncData makes a file's content and its length durable. On macOS, Sync is
// F_FULLFSYNC: it reaches the medium, not only the drive.
func syncData(f *os.File) error { return f.Sync() }
