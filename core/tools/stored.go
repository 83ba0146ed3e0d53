package tools

import (
	"bytes"
	"io"
	"strings"

	"dragoman/core"
	"dragoman/core/board"
)

// jobFile is a file with the lines of a job's output. Each begins with the
// letter of its stream.
type jobFile struct {
	spills core.Spills
	ref    string // "": no file
	lines  int
}

const (
	storedOutput = 'o'
	storedError  = 'e'
)

// store writes lines to a new file.
func store(lines []board.JobLine, spills core.Spills) (jobFile, error) {
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
	f, ref, err := newSpill(spills)
	if err != nil {
		return jobFile{}, err
	}
	s := jobFile{spills, ref, len(lines)}
	_, err = f.Write(b.Bytes())
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		s.remove()
		return jobFile{}, err
	}
	return s, nil
}

func (s jobFile) read() ([]board.JobLine, error) {
	f, err := s.spills.Spilled(s.ref)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	lines := make([]board.JobLine, 0, s.lines)
	for line := range strings.Lines(string(b)) {
		lines = append(lines, board.JobLine{Text: strings.TrimSuffix(line[1:], "\n"), Stderr: line[0] == storedError})
	}
	return lines, nil
}

func (s jobFile) remove() {
	if s.ref != "" {
		_ = s.spills.Unspill(s.ref)
	}
}
