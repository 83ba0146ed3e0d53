package sandbox

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_X86_64
	foreignBit = 0x40000000 // in the numbers of calls of x32 programs
)
