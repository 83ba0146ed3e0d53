package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The fields of what a filter looks at (struct seccomp_data), by offset in bytes. Of arguments the
// lower half is compared: the system looks at no more of those that we judge.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16
)

// barred are the system calls that no program in a sandbox needs and that are ways out of one, or
// into the system's rarely used parts.
var barred = []uintptr{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_SETNS, unix.SYS_UNSHARE,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
}

// missing are system calls that programs do without if the system does not have them.
var missing = []uintptr{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// newNamespaces are the flags of clone for namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// reach is how far sockets of the sandboxed programs may go by their filter.
type reach struct {
	unix    bool // Unix sockets can be made
	streams bool // and TCP sockets
	packets bool // and others of the internet families
}

// filterCalls has the system refuse the calls that no sandbox allows, and sockets beyond a reach,
// to this thread and to all that it starts. New rights must have been ruled out before.
func filterCalls(r reach) error {
	if nativeArch == 0 {
		return errors.New("filter system calls: there is no filter for this architecture")
	}
	code, err := bpf.Assemble(filter(r))
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	list := make([]unix.SockFilter, len(code))
	for i, c := range code {
		list[i] = unix.SockFilter{Code: c.Op, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	prog := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}

// The answers of a filter: the call is made, or fails with an error.
var (
	allow   = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	refuse  = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	unknown = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
	noSuch  = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)}
)

// filter returns the filter for a reach. It knows the calls of one architecture: a program of
// another one, which has other numbers for the same calls, is refused all of them.
func filter(r reach) []bpf.Instruction {
	list := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: nativeArch, SkipTrue: 1},
		unknown,
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: foreignBit, SkipTrue: 1},
		unknown,
	}
	for _, nr := range barred {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(nr), SkipTrue: 1}, refuse)
	}
	for _, nr := range missing {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(nr), SkipTrue: 1}, unknown)
	}
	list = append(list, onCall(unix.SYS_CLONE, 0,
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipFalse: 1}, refuse)...)
	list = append(list, onCall(unix.SYS_IOCTL, 1,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.TIOCSTI, SkipTrue: 1}, refuse,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.TIOCLINUX, SkipTrue: 1}, refuse)...)
	list = append(list, onCall(unix.SYS_SOCKET, 0, families(r)...)...)
	if r.streams && !r.packets {
		list = append(list, datagrams()...)
	}
	return append(list, allow)
}

// onCall lets instructions judge an argument of one call. The number of the call is in the
// accumulator before and after.
func onCall(nr uintptr, arg uint32, judge ...bpf.Instruction) []bpf.Instruction {
	list := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(nr), SkipTrue: uint8(len(judge) + 2)},
		bpf.LoadAbsolute{Off: atArgs + 8*arg, Size: 4},
	}
	list = append(list, judge...)
	return append(list, bpf.LoadAbsolute{Off: atNumber, Size: 4})
}

// families refuses sockets of all families but those that programs use and may reach.
func families(r reach) []bpf.Instruction {
	allowed := []uint32{unix.AF_NETLINK} // Node asks it for the machine's addresses
	if r.unix {
		allowed = append(allowed, unix.AF_UNIX)
	}
	if r.streams {
		allowed = append(allowed, unix.AF_INET, unix.AF_INET6)
	}
	var list []bpf.Instruction
	for i, f := range allowed {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpEqual, Val: f, SkipTrue: uint8(len(allowed) - i)})
	}
	return append(list, noSuch)
}

// datagrams refuses sockets of the internet families that are no streams: Landlock judges streams
// alone.
func datagrams() []bpf.Instruction {
	judge := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_INET6, SkipTrue: 4},
		bpf.LoadAbsolute{Off: atArgs + 8, Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: socketType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 1},
		refuse,
	}
	return onCall(unix.SYS_SOCKET, 0, judge...)
}

// socketType masks the flags of a socket's type.
const socketType = 0xf
