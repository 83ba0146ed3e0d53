package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// cpuOf returns the processor time that a process has used, to the nanosecond: each process has a clock
// of its own, which others can read.
func cpuOf(pid int) time.Duration {
	var ts syscall.Timespec
	id := uintptr(^pid<<3 | 2) // see clock_getcpuclockid(3)
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
		check(fmt.Errorf("the processor time of %d: %w", pid, e))
	}
	return time.Duration(ts.Nano())
}

// memoryOf returns the memory that a process has, and the part of it that is not files, in KiB.
func memoryOf(pid int) (resident, anonymous float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	check(err)
	field := func(name string) float64 {
		_, rest, _ := strings.Cut(string(text), name+":")
		n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		check(err)
		return n
	}
	return field("VmRSS"), field("RssAnon")
}

// load returns how many programs have run or waited for a processor in the last minute, in the mean.
func load() (float64, string) {
	text, err := os.ReadFile("/proc/loadavg")
	check(err)
	n, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	check(err)
	return n, strings.TrimSpace(string(text))
}

// machine describes the machine.
func machine() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	check(err)
	_, rest, _ := strings.Cut(string(info), "model name\t: ")
	name, _, _ := strings.Cut(rest, "\n")
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	check(err)
	return name + ", Linux " + strings.TrimSpace(string(kernel))
}
