package offline

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"dragoman/core/display"
	"dragoman/core/fileuri"
)

// verb is the action of a step of an instruction.
type verb string

const (
	verbRead    verb = "read"
	verbList    verb = "list"
	verbSearch  verb = "search"
	verbWrite   verb = "write"
	verbReplace verb = "replace"
	verbRun     verb = "run"
	verbThink   verb = "think"
	verbPlan    verb = "plan"
	verbAsk     verb = "ask"
	verbStream  verb = "stream"
)

// instructions is the grammar, for people.
var instructions = [...]struct{ form, does string }{
	{"read PATH", "read a file"},
	{"list PATH", "list a folder"},
	{"search TEXT", "search the workspace"},
	{"write PATH: TEXT", "write a file"},
	{"replace A with B in PATH", "edit a file"},
	{"run COMMAND", "run a command in the shell"},
	{"plan A; B; C", "show a plan"},
	{"ask QUESTION", "ask you something"},
	{"think TEXT", "show a thought"},
	{"stream N of SIZE", "stream N pieces of text, of SIZE bytes if you like"},
}

// step is one instruction. The verb determines its args.
type step struct {
	verb  verb
	said  string // the user's text, on one line
	args  []string
	count int // of stream
	size  int // of stream, in bytes
}

// The limits of stream.
const (
	maxStream     = 1_000_000_000
	maxStreamSize = 1 << 20
	streamSize    = 16
)

// stepError reports the mistake in an instruction whose verb is known.
type stepError struct{ step, why string }

func (e *stepError) Error() string { return fmt.Sprintf("%q: %s", e.step, e.why) }

// errNoInstruction: the prompt is not an instruction at all.
var errNoInstruction = errors.New("not an instruction")

// parseSteps parses instructions that are joined by " then ". With an error none of
// them is carried out. A read without a path takes the next of the files, which are
// attached to the prompt.
func parseSteps(text string, files []string) ([]step, error) {
	var steps []step
	for _, part := range splitOutside(text, " then ") {
		part = strings.TrimSpace(part)
		if strings.EqualFold(part, string(verbRead)) && len(files) > 0 {
			part, files = fmt.Sprintf("read \"%s\"", files[0]), files[1:]
		}
		s, err := parseStep(part)
		if errors.Is(err, errNoInstruction) && len(steps) > 0 {
			return nil, &stepError{oneLine(part), "I do not know this instruction"}
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func parseStep(text string) (step, error) {
	word, rest := text, ""
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		word, rest = text[:i], strings.TrimSpace(text[i:])
	}
	s := step{verb: verb(strings.ToLower(word)), said: oneLine(text)}
	fail := func(why string) (step, error) { return step{}, &stepError{s.said, why} }
	var ok bool
	switch s.verb {
	case verbRead, verbList:
		if rest == "" && s.verb == verbList {
			rest = "."
		}
		s.args = []string{""}
		if s.args[0], ok = onePath(rest); !ok {
			return fail("it needs one path; put a path with spaces in double quotes")
		}
	case verbSearch, verbRun, verbThink, verbAsk:
		if s.args = []string{unquote(rest)}; s.args[0] == "" {
			return fail(fmt.Sprintf("it lacks what to %s", s.verb))
		}
	case verbPlan:
		for _, entry := range splitOutside(rest, ";") {
			if entry = unquote(entry); entry != "" {
				s.args = append(s.args, entry)
			}
		}
		if s.args == nil {
			return fail("it needs at least one entry; separate entries with semicolons")
		}
	case verbWrite:
		if s.args, ok = writeArgs(rest); !ok {
			return fail("it needs a path, a colon and the text: write PATH: TEXT")
		}
	case verbReplace:
		if s.args, ok = replaceArgs(rest); !ok {
			return fail("it needs both texts and a path: replace A with B in PATH")
		}
	case verbStream:
		if s.count, s.size, ok = streamArgs(rest); !ok {
			return fail(
				fmt.Sprintf(
					"it needs a number up to %d, and takes a size up to %d: stream N of SIZE",
					maxStream,
					maxStreamSize,
				),
			)
		}
	default:
		return step{}, errNoInstruction
	}
	return s, nil
}

// writeArgs splits PATH: TEXT. The colon is the first one before a space, so that
// C:\file is a path; otherwise, the first one after the second character.
func writeArgs(s string) ([]string, bool) {
	m := mask(s) + " "
	i := strings.Index(m, ": ")
	if i < 0 && len(m) > 2 {
		if i = strings.IndexByte(m[2:], ':'); i >= 0 {
			i += 2
		}
	}
	if i < 0 {
		return nil, false
	}
	path, ok := onePath(s[:i])
	return []string{path, unquote(s[i+1:])}, ok
}

func replaceArgs(s string) ([]string, bool) {
	m := mask(s)
	with := strings.Index(m, " with ")
	in := strings.LastIndex(m, " in ")
	if with < 0 || in < with+len(" with ") {
		return nil, false
	}
	path, ok := onePath(s[in+len(" in "):])
	args := []string{unquote(s[:with]), unquote(s[with+len(" with ") : in]), path}
	return args, ok && args[0] != ""
}

func streamArgs(s string) (count, size int, ok bool) {
	words := strings.Fields(strings.TrimSuffix(s, "."))
	if len(words) != 1 && (len(words) != 3 || !strings.EqualFold(words[1], "of")) {
		return 0, 0, false
	}
	count, err := strconv.Atoi(words[0])
	size = streamSize
	if err == nil && len(words) == 3 {
		size, err = strconv.Atoi(words[2])
	}
	ok = err == nil && count > 0 && count <= maxStream && size > 0 && size <= maxStreamSize
	return count, size, ok
}

// onePath reads a path: one word, or anything in quotes. The full stop of a
// sentence does not belong to it.
func onePath(s string) (string, bool) {
	s = strings.TrimSpace(s)
	for _, quoted := range []string{s, strings.TrimSuffix(s, ".")} {
		if inner := unquote(quoted); inner != quoted {
			return inner, inner != ""
		}
	}
	if len(s) > 1 && strings.HasSuffix(s, ".") && s[len(s)-2] != '.' && s[len(s)-2] != '/' &&
		s[len(s)-2] != '\\' {
		s = s[:len(s)-1]
	}
	return s, s != "" && !strings.ContainsAny(s, " \t\r\n\"")
}

// unquote removes the double quotes around a whole argument; \" within is a quote. Any other
// argument is returned unchanged.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != '"' || closing(s, 0) != len(s)-1 {
		return s
	}
	return strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`)
}

// closing finds the quote that closes the one at i; -1: there is none.
func closing(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		if s[j] == '"' && s[j-1] != '\\' {
			return j
		}
	}
	return -1
}

// mask returns s, byte for byte, with text in quotes masked, letters in lower case, and
// spaces for all white space.
func mask(s string) string {
	var m strings.Builder
	m.Grow(len(s)) // one allocation: it may be large
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c == '\n', c == '\t', c == '\r':
			c = ' '
		case c == '"' && (i == 0 || s[i-1] != '\\'):
			for end := closing(s, i); i < end; i++ {
				m.WriteByte(0)
			}
		}
		m.WriteByte(c)
	}
	return m.String()
}

// splitOutside splits s at sep outside of quotes, in upper or lower case.
func splitOutside(s, sep string) []string {
	var parts []string
	for m := mask(s); ; {
		i := strings.Index(m, sep)
		if i < 0 {
			return append(parts, s)
		}
		parts = append(parts, s[:i])
		s, m = s[i+len(sep):], m[i+len(sep):]
	}
}

// oneLine returns a text in one line of at most 80 characters.
func oneLine(s string) string {
	const most = 80
	const enough = utf8.UTFMax * (most + 1) // bytes, of a text that may be as long as a message
	var line []byte
	for word := range strings.FieldsSeq(s) {
		if len(line) > 0 {
			line = append(line, ' ')
		}
		if line = append(line, word[:min(len(word), enough)]...); len(line) >= enough {
			break
		}
	}
	if short, left := display.Clip(string(line), most-1); left > 1 {
		return short + "…"
	}
	return string(line)
}

// filePath returns the path of a file: URI, and any other URI unchanged.
func filePath(uri string) string {
	path, err := fileuri.Path(uri)
	if err != nil {
		return uri
	}
	return path
}
