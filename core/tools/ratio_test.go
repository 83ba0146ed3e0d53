package tools

import (
	"cmp"
	"go/build"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/policy"
)

// BenchmarkSearchAgainst compares our searches with those of ripgrep, which has to be in the PATH, run by run: of its
// time, "ratio" is the smallest of ours through the smallest of it. TREE is the folder; the default is Go's own source.
func BenchmarkSearchAgainst(b *testing.B) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.Skip("there is no rg")
	}
	dir := cmp.Or(os.Getenv("TREE"), filepath.Join(build.Default.GOROOT, "src"))
	bed := newBed(b, Options{Forbids: ownRules(b)})
	bed.meta.Cwd, bed.meta.Roots = dir, []string{dir}
	for _, c := range []struct {
		name, tool string
		args       m
		peer       []string
	}{
		{"rare", "grep", m{"pattern": "zxqvwj_rare"}, []string{"-n", "zxqvwj_rare", "."}},
		{"ignore case", "grep", m{"pattern": "zxqvwj_rare", "ignore_case": true}, []string{"-n", "-i", "zxqvwj_rare", "."}},
		{"word", "grep", m{"pattern": "ErrUnexpectedEOF", "limit": 2000}, []string{"-n", "ErrUnexpectedEOF", "."}},
		{"word, ignore case", "grep", m{"pattern": "errunexpectedeof", "ignore_case": true, "limit": 2000}, []string{"-n", "-i", "errunexpectedeof", "."}},
		{"expression", "grep", m{"pattern": `func \(.*\) MarshalJSON`}, []string{"-n", `func \(.*\) MarshalJSON`, "."}},
		{"either", "grep", m{"pattern": `panicUnknown|zxqvwj|errNotThere`}, []string{"-n", `panicUnknown|zxqvwj|errNotThere`, "."}},
		{"include", "grep", m{"pattern": `zxqvwj`, "include": "*.s"}, []string{"-n", "-g", "*.s", `zxqvwj`, "."}},
		{"glob", "glob", m{"pattern": "**/*_test.go"}, []string{"--files"}},
		{"glob all", "glob", m{"pattern": "**"}, []string{"--files"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			ours, peers := time.Hour, time.Hour
			for b.Loop() {
				began := time.Now()
				bed.ok(c.tool, c.args)
				ours = min(ours, time.Since(began))
				cmd := exec.Command(rg, c.peer...)
				cmd.Dir, cmd.Stdout = dir, io.Discard
				began = time.Now()
				if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
					b.Fatal(err)
				}
				peers = min(peers, time.Since(began))
			}
			b.ReportMetric(ours.Seconds()*1e3, "ms")
			b.ReportMetric(float64(ours)/float64(peers), "ratio")
		})
	}
}

// ownRules are the rules that a program has which no configuration names.
func ownRules(t testing.TB) func(core.ToolHost) (func(core.Access) bool, error) {
	var rules []policy.Rule
	for _, path := range []string{"/home/u/.local/share/dragoman/auth.json", "/home/u/.local/share/dragoman/vault.json", "/home/u/.config/dragoman/key", "/home/u/.local/share/dragoman/answers.json"} {
		rules = append(rules, policy.Rule{Effect: core.Deny, Path: path, Own: true})
	}
	p, err := policy.New(policy.Options{Rules: rules, Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	return func(h core.ToolHost) (func(core.Access) bool, error) {
		reads := policy.Rights{Rules: p}.Reads(h.Meta())
		return func(a core.Access) bool { return reads(a.Path) }, nil
	}
}
