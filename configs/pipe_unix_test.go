//go:build unix

package configs

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A reference to a pipe is refused; it does not wait for a writer.
func TestResolveRefusesPipes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := NewSecret("${file:" + pipe + "}").Resolve(nil); err == nil {
		t.Error("a pipe was read")
	}
}
