package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each sentence in the README about what it protects against names tests that there are.
func TestPromisesHaveTests(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, ok := strings.Cut(string(readme), "\n## What it protects against, and what not\n")
	page, _, end := strings.Cut(page, "\n## ")
	if !ok || !end {
		t.Fatal("the page is not there")
	}
	out, err := exec.Command("go", "list", "-f", "{{.Name}} {{.Dir}}", "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		folders[name] = append(folders[name], dir)
	}
	named := regexp.MustCompile("`([a-z0-9]+)\\.((?:Test|Fuzz)[A-Za-z0-9]+)`")
	rows := 0
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| It ") {
			continue
		}
		rows++
		tests := named.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, test := range tests {
			if !declares(t, folders[test[1]], "func "+test[2]+"(") {
				t.Errorf("package %s has no %s", test[1], test[2])
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d sentences", rows)
	}
}

// declares reports whether a test file in one of some folders contains a text.
func declares(t *testing.T, dirs []string, text string) bool {
	t.Helper()
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(filepath.Clean(file))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(content), text) {
				return true
			}
		}
	}
	return false
}
