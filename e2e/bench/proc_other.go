//go:build !linux

package main

import (
	"runtime"
	"time"
)

// What only Linux tells is zero here, and shown as a dash.

func cpuOf(int) time.Duration { return 0 }

func memoryOf(int) (resident, anonymous float64) { return 0, 0 }

func load() (float64, string) { return 0, "not known" }

func machine() string { return runtime.GOOS + "/" + runtime.GOARCH }
