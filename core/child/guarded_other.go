//go:build !linux

package child

// Guarded reports whether a guard of this program, or what one has started, is the process. Here it is not known,
// and false.
func Guarded(int) bool { return false }
