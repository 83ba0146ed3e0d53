package program

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Seal keeps other programs of the same user from reading our environment and our memory, where the
// keys of providers are. It must be called first of all: what was read from the environment before
// is gone. Our own environment stays as it was. An error says that the seal is not complete.
func Seal() error {
	first := os.Environ()
	env := make([]string, len(first))
	for i, kv := range first {
		env[i] = strings.Clone(kv) // the texts are parts of the block that is cleared
	}
	from, to, err := environBlock()
	if err == nil {
		os.Clearenv()
		err = clearMemory(from, to)
		for _, kv := range env {
			if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
				if err := os.Setenv(name, value); err != nil {
					return fmt.Errorf("set %s again: %w", name, err)
				}
			}
		}
	}
	// Whoever traces us, or opens our files in /proc, needs the rights of root from here on.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	return err
}

// environBlock returns where the system has put the environment when this program started.
func environBlock() (from, to int64, err error) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	// pid (name) state …, as the 50th and 51st where the environment begins and ends; the name may
	// hold anything.
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) < 49 {
		return 0, 0, fmt.Errorf("/proc/self/stat has %d fields", len(f)+2)
	}
	if from, err = strconv.ParseInt(string(f[47]), 10, 64); err != nil {
		return 0, 0, err
	}
	to, err = strconv.ParseInt(string(f[48]), 10, 64)
	return from, to, err
}

// clearMemory overwrites a part of our memory with zeros.
func clearMemory(from, to int64) error {
	if from <= 0 || to < from || to-from > 16<<20 {
		return fmt.Errorf("the environment cannot be at %d to %d", from, to)
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	_, err = memory.WriteAt(make([]byte, to-from), from)
	return err
}
