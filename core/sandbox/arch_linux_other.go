//go:build linux && !amd64 && !arm64

package sandbox

// There is no filter for this architecture, so nothing is confined on it.
const (
	nativeArch = 0
	foreignBit = 1 << 31
)
