package terminal

import "os"

// Is reports whether a file is a terminal, or at least a similar device.
func Is(f *os.File) bool {
	if f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
