package tools

import (
	"fmt"
	"strings"
	"testing"
)

// benchBed has 2,000 files of 8 KB in 100 folders, 400 of them ignored.
func benchBed(b *testing.B) *bed {
	bed := newBed(b)
	line := "func name(argument string) (result int, err error) { return 0, nil } // and so on\n"
	text := strings.Repeat(line, 8<<10/len(line))
	for i := range 100 {
		for j := range 20 {
			ext := "go"
			if j%5 == 0 {
				ext = "log"
			}
			bed.put(fmt.Sprintf("d%d/e%02d/f%02d.%s", i%10, i, j, ext), text)
		}
	}
	bed.put(".gitignore", "*.log\nbuild/\n/dist/\n!keep.log\n")
	bed.put("d5/e55/last.go", "needle\n")
	return bed
}

func benchTool(b *testing.B, tool string, args m) {
	bed := benchBed(b)
	b.ReportAllocs()
	for b.Loop() {
		bed.ok(tool, args)
	}
}

func BenchmarkGrep(b *testing.B) {
	for name, args := range map[string]m{
		"literal":     {"pattern": "needle"},
		"ignore case": {"pattern": "NEEDLE", "ignore_case": true},
		"across":      {"pattern": `needle\s*$`},
		"many":        {"pattern": "result", "limit": 2000},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(1600 * 8 << 10)
			benchTool(b, "grep", args)
		})
	}
}

func BenchmarkDirectoryTree(b *testing.B) { benchTool(b, "directory_tree", m{}) }

func BenchmarkGlob(b *testing.B) { benchTool(b, "glob", m{"pattern": "**/last.go"}) }

func BenchmarkReadEnd(b *testing.B) {
	bed := newBed(b)
	bed.put("f", numbered(1, 100_000))
	b.ReportAllocs()
	for b.Loop() {
		bed.ok("read_file", m{"path": "f", "offset": 99_999})
	}
}
