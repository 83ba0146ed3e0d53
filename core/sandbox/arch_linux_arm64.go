package sandbox

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	foreignBit = 1 << 31 // no call has so large a number
)
