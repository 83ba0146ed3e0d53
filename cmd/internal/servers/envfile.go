package servers

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core/datadir"
	"dragoman/core/display"
)

// maxEnvFile limits a file of variables, in bytes.
const maxEnvFile = 1 << 20

// readEnvFile reads a file of variables. They are copied, so that a later change of the file, which
// may be in a folder that others write, does not change what the program gets.
func readEnvFile(path string) (map[string]configs.Secret, error) {
	text, _, err := datadir.Read(path, maxEnvFile)
	if err != nil {
		return nil, fmt.Errorf("read --env-file %s: %s", path, program.Reason(err))
	}
	values, err := parseEnvFile(text)
	if err != nil {
		return nil, fmt.Errorf("read --env-file %s: %w", path, err)
	}
	all := map[string]configs.Secret{}
	for name, value := range values {
		all[name] = configs.NewSecret(configs.Literal(value))
	}
	return all, nil
}

// parseEnvFile reads lines of the form NAME=VALUE. Programs differ in the rest of the form: a line
// that some would read in another way is an error, which does not contain the value.
func parseEnvFile(text []byte) (map[string]string, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	values := map[string]string{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		name, value, err := parseEnvLine(strings.TrimRight(string(line), "\r\n"))
		if _, twice := values[name]; err == nil && twice {
			err = fmt.Errorf("%s is set twice", name)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if name != "" {
			values[name] = value
		}
	}
	return values, nil
}

// parseEnvLine reads one line; name is empty for a blank one and for a comment.
func parseEnvLine(line string) (name, value string, err error) {
	if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		return "", "", errors.New("it is not text")
	}
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
	if name = strings.TrimLeft(name, " \t"); !ok {
		return "", "", errors.New("it is not NAME=VALUE")
	}
	if strings.TrimRight(name, " \t") != name {
		return "", "", errors.New("it has a blank before the =; write none")
	}
	if !isEnvName(name) {
		return "", "", fmt.Errorf("%q is not the name of a variable", display.Line(name, 40))
	}
	if value, err = envValue(value); err != nil {
		err = fmt.Errorf("the value of %s %w", name, err)
	}
	return name, value, err
}

// isEnvName reports whether a name has only letters, digits and underscores, and no digit first.
func isEnvName(name string) bool {
	for i, r := range name {
		letter := r == '_' || r|0x20 >= 'a' && r|0x20 <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// envValue returns the value that a text behind the = means.
func envValue(s string) (string, error) {
	switch {
	case s == "":
		return "", nil
	case s[0] == '\'':
		value, rest, closed := strings.Cut(s[1:], "'")
		return value, afterQuote(closed, rest)
	case s[0] == '"':
		value, rest, closed, err := doubleQuoted(s[1:])
		if err == nil {
			err = afterQuote(closed, rest)
		}
		return value, err
	case s[0] == ' ' || s[0] == '\t':
		return "", errors.New("begins with a blank; write no blanks around the =, or quotes")
	case strings.ContainsAny(s, "'\"\\`"):
		return "", errors.New(`has a quote or a backslash in it; write '…' around it`)
	case strings.Contains(s, " #") || strings.Contains(s, "\t#"):
		return "", errors.New("has a # after a blank, which may begin a comment; write '…' around it")
	case expands(s):
		return "", errors.New("has a variable ($NAME), which is not replaced here; write '…' around the text itself")
	}
	return s, nil
}

// afterQuote checks the text behind the closing quote.
func afterQuote(closed bool, rest string) error {
	if rest = strings.TrimSpace(rest); !closed {
		return errors.New("has no closing quote on its line")
	} else if rest != "" && rest[0] != '#' {
		return errors.New("goes on after its closing quote")
	}
	return nil
}

// doubleQuoted reads up to the closing quote.
func doubleQuoted(s string) (value, rest string, closed bool, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true, nil
		case c == '\\' && i+1 < len(s):
			i++
			plain, ok := map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '$': '$'}[s[i]]
			if !ok {
				return "", "", false, errors.New(`has a backslash before a character other than n, r, t, ", \ and $`)
			}
			b.WriteByte(plain)
		case c == '$' && expandsAt(s[i:]):
			return "", "", false, errors.New(`has a variable ($NAME), which is not replaced here; write \$ or '…' for the text itself`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", false, nil
}

// expands reports whether a text has a $ that a shell would replace.
func expands(s string) bool {
	for i := strings.IndexByte(s, '$'); i >= 0; {
		if expandsAt(s[i:]) {
			return true
		}
		next := strings.IndexByte(s[i+1:], '$')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// expandsAt reports whether the $ at the beginning of a text would be replaced.
func expandsAt(s string) bool {
	return len(s) > 1 && (s[1] == '{' || s[1] == '(' || isEnvName(s[1:2]))
}
