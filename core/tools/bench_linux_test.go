package tools

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"dragoman/core/child"
)

// BenchmarkShell compares the tool that runs commands with a shell that is started by itself: without a sandbox,
// in one that runs already, and beside a job. Each round measures all of them, so that a busy machine slows all of
// them down.
func BenchmarkShell(b *testing.B) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		b.Skip(err)
	}
	tool := func(beds ...*bed) func() {
		bed := beds[0]
		return func() { bed.ok(shellCommand, m{"command": "true"}) }
	}
	working := newBed(b)
	working.begin(m{"command": "sleep 600"})
	names := []string{"bash", "none", "files", "full", "beside"}
	runs := map[string]func(){
		"bash": func() {
			cmd := exec.Command(bash, "-c", "true")
			cmd.Dir, cmd.Env = working.dir, []string{"PATH=" + os.Getenv("PATH")}
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v %s", err, out)
			}
		},
		"none":   tool(newBed(b)),
		"files":  tool(boxed(b, child.Files)),
		"full":   tool(boxed(b, child.Full)),
		"beside": tool(working),
	}
	took := map[string][]time.Duration{}
	for _, name := range names {
		runs[name]() // the first one makes the guard and the sandbox
	}
	for b.Loop() {
		for _, name := range names {
			began := time.Now()
			runs[name]()
			took[name] = append(took[name], time.Since(began))
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, name := range names {
		slices.Sort(took[name])
	}
	least := func(name string) float64 { return float64(took[name][0]) }
	median := func(name string) float64 { return float64(took[name][len(took[name])/2]) }
	b.ReportMetric(median("bash")/1e6, "bash-ms")
	for _, name := range names[1:] {
		b.ReportMetric(least(name)/least("bash"), name+"/bash-min")
		b.ReportMetric(median(name)/median("bash"), name+"/bash")
	}
}
