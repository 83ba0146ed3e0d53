package main

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table of limits names an owner, a limit, an end and a test for each resource, and the tests
// exist. The text around the table sets no limit: it would have no test.
func TestTableOfLimits(t *testing.T) {
	doc, err := os.Open("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Close()
	columns := regexp.MustCompile(`\s{2,}`)
	rows, named, inside := 0, map[string]bool{}, false
	for lines := bufio.NewScanner(doc); lines.Scan(); {
		if title, ok := strings.CutPrefix(lines.Text(), "// # "); ok {
			inside = title == "Limits"
		}
		if !inside {
			continue
		}
		row, ok := strings.CutPrefix(lines.Text(), "//\t")
		if !ok {
			if strings.ContainsAny(lines.Text(), "0123456789") {
				t.Errorf("a limit outside of the table: %s", lines.Text())
			}
			continue
		}
		cells := columns.Split(row, -1)
		if named[cells[0]] {
			t.Errorf("%s has two rows", cells[0])
		}
		named[cells[0]] = true
		if rows++; rows == 1 {
			if strings.Join(cells, "|") != "resource|owner|limit|what ends it|test" {
				t.Errorf("the columns are %q", cells)
			}
			continue
		}
		if len(cells) != 5 {
			t.Errorf("%q has %d columns", row, len(cells))
			continue
		}
		pkg, name, ok := strings.Cut(cells[4], ".")
		if !ok || !hasTest(t, pkg, name) {
			t.Errorf("%s: there is no test %s in %s", cells[0], name, pkg)
		}
	}
	if rows < 50 {
		t.Errorf("the table has %d rows", rows)
	}
}

// hasTest reports whether the files of a package contain a test.
func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "\nfunc "+name+"(t *testing.T) {") {
			return true
		}
	}
	return false
}
