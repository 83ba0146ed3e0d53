package agents

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// maxFirstLine limits the first line of a script, in bytes; so does Linux.
const maxFirstLine = 256

// beginning returns the first bytes of a file; nil: it cannot be read.
func beginning(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, maxFirstLine)
	n, _ := io.ReadFull(f, b) // it may be shorter
	return b[:n]
}

// runner returns the words of a script's first line, which name the program that runs it; none: the
// file does not begin like a script.
func runner(beginning []byte) []string {
	line, _, whole := bytes.Cut(beginning, []byte("\n"))
	rest, is := bytes.CutPrefix(line, []byte("#!"))
	if !is || !whole && len(beginning) == maxFirstLine {
		return nil
	}
	return strings.Fields(string(rest))
}

// interpreter returns the program that runs a script; "": the file is no script.
func interpreter(path string) string {
	words := runner(beginning(path))
	if len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return w
		}
	}
	return ""
}

// unrunnable says why the system does not run a file, whose own words for that are misleading or none;
// "": it may not be the file. err is how the attempt has ended.
func unrunnable(path string, err error) string {
	text := beginning(path)
	if text == nil || runtime.GOOS == "windows" {
		return ""
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	words := runner(text)
	switch {
	case len(words) > 0 && bytes.HasSuffix(line, []byte("\r")):
		return "its lines end as on Windows (CR LF), so the program that its first line names is not found; convert the file"
	case len(words) > 0:
		if _, err := os.Stat(words[0]); err != nil {
			return "its first line names " + words[0] + ", which is not there"
		}
	case bytes.IndexByte(text, 0) < 0:
		return "it is a text, and its first line does not name the program that runs it, such as #!/usr/bin/env node; write that program before it in the command"
	case errors.Is(err, syscall.ENOEXEC):
		return "it was built for another system or processor"
	}
	return ""
}
