package e2e

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// tracer counts the system calls of a program, but for those of Go's scheduler and memory, whose number
// depends on the machine. The programs that it starts are not counted.
type tracer struct {
	mu    sync.Mutex // guards the field below
	calls map[uint64]int
}

// schedulers are the calls that are not counted.
var schedulers = []uint64{
	syscall.SYS_FUTEX, syscall.SYS_NANOSLEEP, syscall.SYS_SCHED_YIELD, syscall.SYS_EPOLL_PWAIT, syscall.SYS_MADVISE,
	syscall.SYS_MMAP, syscall.SYS_MUNMAP, syscall.SYS_RT_SIGPROCMASK, syscall.SYS_RT_SIGRETURN, syscall.SYS_TGKILL, syscall.SYS_GETPID,
	syscall.SYS_GETTID, syscall.SYS_CLONE, syscall.SYS_EXIT, syscall.SYS_SIGALTSTACK, syscall.SYS_RESTART_SYSCALL, syscall.SYS_PRCTL,
}

const (
	ptraceGetSyscallInfo = 0x420e // see ptrace(2)
	ptraceExitKill       = 0x100000
	atEntry              = 1
	callStop             = syscall.SIGTRAP | 0x80
)

// needTracer skips a test where the system lets nobody be traced.
func needTracer(t *testing.T) *tracer {
	t.Helper()
	k := &tracer{calls: map[uint64]int{}}
	probe := exec.Command("true")
	ownGroup(probe)
	started := make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.run(probe, started)
	}()
	err := <-started
	<-ended
	if err != nil {
		t.Skipf("the system does not let a child be traced: %v", err)
	}
	return k
}

// run starts a command, says so, and traces it to its end.
func (k *tracer) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread() // only the thread that started it may trace it; it ends with the goroutine
	cmd.SysProcAttr.Ptrace = true
	err := cmd.Start()
	if err == nil {
		err = k.attach(cmd.Process.Pid)
	}
	started <- err
	if err != nil {
		return
	}
	known := map[int]bool{cmd.Process.Pid: true}
	for {
		var status syscall.WaitStatus
		thread, err := syscall.Wait4(-1, &status, syscall.WALL|syscall.WNOTHREAD, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return
		case !status.Stopped():
			if thread == cmd.Process.Pid {
				return
			}
			continue
		}
		deliver := 0
		switch s := status.StopSignal(); {
		case s == callStop:
			k.count(thread)
		case s == syscall.SIGTRAP: // a thread has begun another one
		case s == syscall.SIGSTOP && !known[thread]: // which begins with this
			known[thread] = true
		default:
			deliver = int(s)
		}
		_ = syscall.PtraceSyscall(thread, deliver) // it may be gone
	}
}

// attach prepares a process that has just begun.
func (k *tracer) attach(pid int) error {
	if _, err := syscall.Wait4(pid, nil, syscall.WALL, nil); err != nil {
		return err
	}
	if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|ptraceExitKill); err != nil {
		return err
	}
	return syscall.PtraceSyscall(pid, 0)
}

// count counts the call that a thread is about to make.
func (k *tracer) count(thread int) {
	var info struct {
		op     uint8
		_      [3]uint8
		arch   uint32
		ip, sp uint64
		call   uint64
		args   [6]uint64
		_      [8]uint8
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, ptraceGetSyscallInfo, uintptr(thread), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 || info.op != atEntry || slices.Contains(schedulers, info.call) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls[info.call]++
}

// during returns how many calls are made while f runs, and which.
func (k *tracer) during(f func()) (total int, which string) {
	k.mu.Lock()
	before := maps.Clone(k.calls)
	k.mu.Unlock()
	f()
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []string
	for call, n := range k.calls {
		if n -= before[call]; n > 0 {
			total += n
			list = append(list, fmt.Sprintf("%d × %d", n, call))
		}
	}
	slices.Sort(list)
	return total, strings.Join(list, ", ")
}

// TestBudgetSystemCalls keeps new sessions and prompts from looking at the disk more than they do. The limits
// have some room for the goroutines that work beside them.
func TestBudgetSystemCalls(t *testing.T) {
	t.Parallel()
	k := needTracer(t)
	l := quickly(t)
	l.run = k.run
	p := newPlace(t)
	url := streaming(t, 1, 20)
	p.userConfig(t, fmt.Sprintf("providers: {mock: {kind: openai-chat, base_url: %q, api_key: none, models: {any: {}}}}\nmodel: mock/any\n", url))
	e := p.edit(t, acpDialect(), l)
	check := func(what string, limit, times int, f func()) {
		t.Helper()
		least, which := -1, ""
		for range times {
			if n, made := k.during(f); least < 0 || n < least {
				least, which = n, made
			}
		}
		t.Logf("%s: %d system calls", what, least)
		if least > limit {
			t.Errorf("%s: %d system calls, more than %d; by their numbers: %s", what, least, limit, which)
		}
	}
	id := ""
	check("the first session/new", 240, 1, func() { id = e.begin() })
	check("a later session/new", 80, 5, func() { e.begin() })
	check("the first turn", 240, 1, func() { e.run(id, "hello") })
	check("a later turn", 75, 5, func() { e.run(id, "hello") })
	e.stop()
}
