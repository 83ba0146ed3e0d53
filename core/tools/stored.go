package tools

import (
	"bytes"
	"os"
	"strings"

	"dragoman/core/board"
	"dragoman/core/files"
)

// stored is a file with the lines of a job's output. Each begins with the name of its
// stream.
type stored struct {
	path  string // "": there is none
	lines int
}

const (
	storedOutput = 'o'
	storedError  = 'e'
)

// store writes lines to a new file in a folder.
func store(lines []board.JobLine, folder string) (stored, error) {
	var b bytes.Buffer
	for _, l := range lines {
		stream := byte(storedOutput)
		if l.Stderr {
			stream = storedError
		}
		b.WriteByte(stream)
		b.WriteString(l.Text)
		b.WriteByte('\n')
	}
	f, path, err := files.NewSpill(folder)
	if err != nil {
		return stored{}, err
	}
	s := stored{path, len(lines)}
	_, err = f.Write(b.Bytes())
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		s.remove()
		return stored{}, err
	}
	return s, nil
}

func (s stored) read() ([]board.JobLine, error) {
	b, err := os.ReadFile(s.path)
	if err != nil {
		return nil, err
	}
	lines := make([]board.JobLine, 0, s.lines)
	for line := range strings.Lines(string(b)) {
		lines = append(lines, board.JobLine{Text: strings.TrimSuffix(line[1:], "\n"), Stderr: line[0] == storedError})
	}
	return lines, nil
}

func (s stored) remove() {
	if s.path != "" {
		_ = os.Remove(s.path)
	}
}
