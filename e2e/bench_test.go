package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// plain are the binary and the bare program, built without the race detector.
var plain = sync.OnceValues(func() (built [2]string, err error) {
	dir := filepath.Dir(binary)
	for i, pkg := range []string{"../cmd/dragoman", "./testdata/bare"} {
		built[i] = filepath.Join(dir, "plain-"+filepath.Base(pkg))
		if given := os.Getenv("DRAGOMAN_E2E_BINARY"); given != "" && i == 0 {
			built[i] = given
			continue
		}
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", built[i], pkg)
		if text, err := cmd.CombinedOutput(); err != nil {
			return built, fmt.Errorf("go build %s: %v\n%s", pkg, err, text)
		}
	}
	return built, nil
})

func needPlain(b *testing.B) (dragoman, bare launch) {
	b.Helper()
	built, err := plain()
	if err != nil {
		b.Fatal(err)
	}
	return launch{binary: built[0]}, launch{binary: built[1]}
}

// median is in milliseconds.
func median(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2].Microseconds()) / 1000
}

// BenchmarkStart is from the start of the process to the answer to initialize,
// beside a bare program with the same libraries, run by run.
func BenchmarkStart(b *testing.B) {
	dragoman, bare := needPlain(b)
	initialize := map[string]func(p *place) *peer{
		"acp": func(p *place) *peer { return p.edit(b, acpDialect(), dragoman).peer },
		"eca": func(p *place) *peer { return p.edit(b, ecaDialect(), dragoman).peer },
		"mcp": func(p *place) *peer { return p.call(b, dragoman).peer },
	}
	for _, name := range []string{"acp", "eca", "mcp"} {
		b.Run(name, func(b *testing.B) {
			p := newPlace(b)
			var ours, theirs []time.Duration
			var memory []float64
			for b.Loop() {
				c := initialize[name](p)
				ours = append(ours, c.answered.Sub(c.began))
				memory = append(memory, rss(c.cmd.Process.Pid))
				c.stop()
				c = p.start(b, bare, false, name)
				c.write([]byte("{}\n"))
				if _, err := c.next(); err != nil {
					b.Fatal(err)
				}
				theirs = append(theirs, c.answered.Sub(c.began))
				c.stop()
			}
			slices.Sort(memory)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(ours), "ms")
			b.ReportMetric(median(theirs), "bare-ms")
			b.ReportMetric(median(ours)/median(theirs), "ratio")
			b.ReportMetric(memory[len(memory)/2], "MiB")
		})
	}
}

// BenchmarkStream is a turn of 200,000 deltas of 20 bytes.
func BenchmarkStream(b *testing.B) {
	const deltas, size = 200_000, 20
	dragoman, _ := needPlain(b)
	prompt := fmt.Sprintf("stream %d of %d", deltas, size)
	report := func(b *testing.B, took time.Duration, frames int, memory float64) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(b.N*deltas)/took.Seconds(), "deltas/s")
		b.ReportMetric(float64(b.N*deltas*size)/took.Seconds()/1e6, "MB/s")
		b.ReportMetric(float64(frames)/float64(b.N), "frames")
		b.ReportMetric(memory, "MiB")
	}
	for _, d := range editors() {
		b.Run(d.name, func(b *testing.B) {
			e := newPlace(b).edit(b, d, dragoman)
			id := e.begin()
			e.run(id, "stream 2 of 3")
			var took time.Duration
			frames := 0
			for b.Loop() {
				began := time.Now()
				e.prompt(id, prompt)
				frames += e.gulp(map[string]string{"acp": `"stopReason":`, "eca": `"state":"finished"`}[d.name])
				took += time.Since(began)
			}
			report(b, took, frames, rss(e.cmd.Process.Pid))
			e.stop()
		})
	}
	b.Run("mcp", func(b *testing.B) {
		c := newPlace(b).call(b, dragoman)
		id := c.prompt("", "stream 2 of 3").Structured.Session
		var took time.Duration
		for b.Loop() {
			began := time.Now()
			if r := c.prompt(id, prompt); r.Structured.Status != "completed" {
				b.Fatal(r.text())
			}
			took += time.Since(began)
		}
		report(b, took, b.N, rss(c.cmd.Process.Pid))
		c.stop()
	})
}

// gulp reads until a frame holds an end, without looking at the others, and counts
// them.
func (e *editor) gulp(end string) (frames int) {
	e.t.Helper()
	if err := e.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		e.t.Fatal(err)
	}
	for {
		frame, err := e.frame()
		if err != nil {
			e.t.Fatal(err)
		}
		if frames++; bytes.Contains(frame, []byte(end)) {
			return frames
		}
	}
}

// BenchmarkFirstChunk is from a prompt to the first of the answer: the prompt is on
// the disk by then.
func BenchmarkFirstChunk(b *testing.B) {
	dragoman, _ := needPlain(b)
	for _, d := range editors() {
		b.Run(d.name, func(b *testing.B) {
			e := newPlace(b).edit(b, d, dragoman)
			id := e.begin()
			e.run(id, "stream 2 of 3")
			var first, all []time.Duration
			for b.Loop() {
				v := e.view(id)
				had, ends := v.length, len(v.ends)
				began := time.Now()
				e.prompt(id, "stream 2 of 3")
				e.read("text", func() bool { return v.length > had })
				first = append(first, time.Since(began))
				e.ended(id, ends+1)
				all = append(all, time.Since(began))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(first), "ms")
			b.ReportMetric(median(all), "turn-ms")
			e.stop()
		})
	}
}
