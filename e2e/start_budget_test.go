package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestBudgetStart keeps packages from filling tables and compiling patterns whenever the program starts: whoever
// needs them can have them made then. The limit of the whole has some room for other versions of Go; two thirds of it
// are of libraries.
func TestBudgetStart(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(quickly(t).binary, "version")
	cmd.Env = append(newPlace(t).env, "GODEBUG=inittrace=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	bytes, allocs := 0, 0
	for line := range strings.Lines(string(text)) {
		var pkg, at, took string
		var b, n int
		if k, _ := fmt.Sscanf(line, "init %s @%s ms, %s ms clock, %d bytes, %d allocs", &pkg, &at, &took, &b, &n); k != 5 {
			continue
		}
		bytes, allocs = bytes+b, allocs+n
		if strings.HasPrefix(pkg, "dragoman/") && (b > 8<<10 || n > 80) {
			t.Errorf("%s is initialized with %d allocations of %d bytes", pkg, n, b)
		}
	}
	t.Logf("%d allocations of %d bytes", allocs, bytes)
	if allocs == 0 || allocs > 2400 || bytes > 360<<10 {
		t.Errorf("packages are initialized with %d allocations of %d bytes, more than 2,400 of 360 KiB", allocs, bytes)
	}
}
