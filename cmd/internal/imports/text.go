package imports

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"dragoman/configs"
	"dragoman/core/display"
)

// translation translates the variables that another program replaces in the texts of its
// settings: ${env:NAME}, ${workspaceFolder} and the like.
type translation struct {
	settingsFile
	notes *candidate
	given map[string]bool // the variables that the program gets
	fixed bool            // the program does not run in the session's folder
}

// folder translates the folder for starting a program.
func (t *translation) folder(cwd string) error {
	switch {
	case cwd == "" || cwd == "." || cwd == "${workspaceFolder}":
		return nil // that of the session
	}
	t.fixed = true
	dir, err := t.expand("cwd", cwd, false)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~/") && !strings.HasPrefix(dir, "${") {
		switch {
		case t.project != "":
			dir = filepath.Join(literal(t.project), dir)
		case filepath.IsLocal(filepath.FromSlash(dir)):
			dir = "${workspaceFolder}/" + filepath.ToSlash(filepath.Clean(dir))
			t.notes.note("cwd: %s is %s here, in the session's folder", display.Line(cwd, 80), display.Line(dir, 120))
		default:
			return fmt.Errorf(
				"cwd: %s is a relative path, and nothing says from where; write an absolute one as dir",
				display.Line(cwd, 80),
			)
		}
	}
	t.notes.server.Dir = configs.NewValue(dir)
	return nil
}

// command translates the program. The folder of a session must not determine the program that
// runs.
func (t *translation) command(command string) (string, error) {
	relative := strings.HasPrefix(command, "./") || strings.HasPrefix(command, "../")
	if (relative || strings.Contains(command, "${workspaceFolder")) && t.project == "" {
		return "", fmt.Errorf(
			"command: %s lies in whatever folder is open; add the server with the program's own path",
			display.Line(command, 80),
		)
	}
	t.fixed, command = true, strings.TrimPrefix(command, "./")
	if relative {
		command, err := t.expand("command", command, false)
		return filepath.Join(literal(t.project), filepath.FromSlash(command)), err
	}
	defer func(was bool) { t.fixed = was }(!t.notes.server.Dir.IsZero())
	return t.expand("command", command, false)
}

// plain translates a text that may be shown.
func (t *translation) plain(key, text string) (string, error) { return t.expand(key, text, false) }

// secret translates a value of env or headers.
func (t *translation) secret(kind, name, text string) (string, error) {
	id, input := strings.CutPrefix(text, "${input:")
	whole := strings.HasSuffix(id, "}") && strings.Count(text, "}") == 1
	if input && whole && kind == "env" && !strings.ContainsAny(name, "{}") {
		t.asks(kind+"."+name, strings.TrimSuffix(id, "}"), name)
		return "${env:" + name + "}", nil
	}
	return t.expand(kind+"."+name, text, true)
}

// asks warns of a value that the other editor asks a person for.
func (t *translation) asks(key, id, variable string) {
	what := id
	if d := t.inputs[id]; d != "" {
		what = fmt.Sprintf("%s (%s)", id, display.Line(d, 80))
	}
	t.notes.note(
		"%s: its editor asks you for %s; here it is ${env:%s}: set that variable, or write the value in its place",
		key,
		what,
		variable,
	)
}

// expand translates the variables of a text. secret: it may contain ${cmd:…}. The result has no
// references except those that variable returns: everything else is escaped.
func (t *translation) expand(key, text string, secret bool) (string, error) {
	translate := t.dialect.variable
	if translate == nil {
		translate = func(t *translation, key, match string) (string, bool, error) {
			return t.variable(key, strings.TrimSuffix(strings.TrimPrefix(match, "${"), "}"), secret)
		}
	}
	variables := t.dialect.variables
	if variables == nil {
		variables = braced
	}
	var p pieces
	for {
		at := variables().FindStringIndex(text)
		if at == nil {
			p.text(text)
			return p.String(), nil
		}
		p.text(text[:at[0]])
		value, reference, err := translate(t, key, text[at[0]:at[1]])
		if err == nil && reference {
			err = p.reference(value)
		} else if err == nil {
			p.text(value)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", key, err)
		}
		text = text[at[1]:]
	}
}

// pieces joins plain texts and references to a text of ours. Adjacent plain texts are escaped
// together: "$" and "{x}" would be a reference otherwise.
type pieces struct{ whole, plain strings.Builder }

func (p *pieces) text(s string) { p.plain.WriteString(s) }

func (p *pieces) reference(s string) error {
	if strings.HasSuffix(p.plain.String(), "$") {
		return errors.New("a $ right in front of a reference cannot be written here")
	}
	p.whole.WriteString(literal(p.plain.String()) + s)
	p.plain.Reset()
	return nil
}

func (p *pieces) String() string { return p.whole.String() + literal(p.plain.String()) }

// braced finds ${…}.
var braced = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[^}]*\}`) })

// literal returns a text without references.
func literal(text string) string { return configs.Literal(text) }

// Variables of other programs without a counterpart here: by the part before a colon, and as a
// whole.
var (
	foreignKinds = []string{
		"config", "command", "input", "env", "cmd", "classpath", "netrc", "extensionInstallFolder",
	}
	foreignVariables = []string{
		"cwd", "execPath", "file", "fileDirname", "fileBasename", "relativeFile",
		"selectedText", "lineNumber", "defaultBuildTask",
	}
)

// variable translates the inside of one ${…} into a reference or into text.
func (t *translation) variable(key, inner string, secret bool) (value string, reference bool, err error) {
	kind, name, qualified := strings.Cut(inner, ":")
	switch {
	case kind == "env" && qualified:
		if variable, otherwise, has := strings.Cut(name, ":"); has { // ECA
			value, reference = t.variableOr(key, variable, otherwise)
			return value, reference, nil
		}
		return "${env:" + name + "}", true, nil
	case kind == "input" && qualified:
		variable := strings.ToUpper(strings.Map(wordOrLine, name))
		t.asks(key, name, variable)
		return "${env:" + variable + "}", true, nil
	case (kind == "file" || kind == "cmd") && qualified && !t.ofECA():
		t.notes.note(
			"%s: ${%s} is text: only ECA's own settings read files or run programs in this way",
			key,
			display.Line(inner, 200),
		)
		return "${" + inner + "}", false, nil
	case kind == "file" && qualified:
		if !filepath.IsAbs(name) && !strings.HasPrefix(name, "~") {
			name = filepath.Join(filepath.Dir(t.path), name)
		}
		t.notes.reaches = append(t.notes.reaches, fmt.Sprintf("%s reads the file %+q", display.Line(key, 100), name))
		return "${file:" + name + "}", true, nil
	case kind == "cmd" && qualified && secret:
		t.notes.reaches = append(t.notes.reaches, fmt.Sprintf("%s runs %+q", display.Line(key, 100), name))
		return "${cmd:" + name + "}", true, nil
	case inner == "workspaceFolder", kind == "workspaceFolder" && qualified, inner == "workspaceRoot":
		value, reference = t.workspace(key)
		return value, reference, nil
	case inner == "workspaceFolderBasename" && t.project != "":
		return filepath.Base(t.project), false, nil
	case inner == "workspaceFolderBasename":
		t.notes.note("%s: ${%s} has no counterpart here, and is imported as plain text", key, inner)
		return "${" + inner + "}", false, nil
	case inner == "userHome":
		if runtime.GOOS == "windows" {
			return "${env:USERPROFILE}", true, nil
		}
		return "${env:HOME}", true, nil
	case inner == "pathSeparator", inner == "/":
		return string(filepath.Separator), false, nil
	case slices.Contains(foreignKinds, kind), slices.Contains(foreignVariables, inner):
		return "", false, errors.New("${" + display.Line(inner, 60) + "} has no counterpart here")
	}
	if variable, otherwise, has := strings.Cut(inner, ":-"); t.ofClaudeCode() && isVariable(variable) {
		if has {
			value, reference = t.variableOr(key, variable, otherwise)
			return value, reference, nil
		}
		return "${" + inner + "}", true, nil
	}
	if !t.given[inner] { // otherwise the program itself replaces it
		t.notes.note(
			"%s: ${%s} is imported as plain text; if you mean a variable, write ${env:NAME}",
			key,
			display.Line(inner, 60),
		)
	}
	return "${" + inner + "}", false, nil
}

// ofECA reports whether the settings are ECA's own: only there are ${file:…} and ${cmd:…}
// references.
func (t *translation) ofECA() bool {
	dir := filepath.Base(filepath.Dir(t.path))
	return filepath.Base(t.path) == "config.json" && (dir == "eca" || dir == ".eca")
}

// ofClaudeCode reports whether a plain ${NAME} is a variable of the environment.
func (t *translation) ofClaudeCode() bool {
	base := filepath.Base(t.path)
	return base == ".mcp.json" || base == ".claude.json"
}

// variableOr returns a reference to a variable with a text for an unset variable. A text that
// cannot be written this way is decided now.
func (t *translation) variableOr(key, variable, otherwise string) (value string, reference bool) {
	if isVariable(variable) && !strings.Contains(otherwise, "${") {
		return "${" + variable + ":-" + otherwise + "}", true
	}
	if _, set := t.env(variable); !set {
		t.notes.note("%s: the variable %s is not set, so its default is written instead", key, variable)
		return otherwise, false
	}
	t.notes.note("%s: the default of the variable %s is left out", key, variable)
	return "${env:" + variable + "}", true
}

// isVariable reports whether a name is valid in ${NAME} in mcp.json.
func isVariable(name string) bool {
	return name != "" && name[0] > '9' && strings.Map(wordOrLine, name) == name
}

// workspace returns the open folder: that of the session, or of the settings' project for a
// program that runs in a folder of its own.
func (t *translation) workspace(key string) (value string, reference bool) {
	if t.fixed && t.project != "" {
		t.notes.note("%s: %s stands for ${workspaceFolder}", key, t.project)
		return t.project, false
	}
	return "${workspaceFolder}", true
}

func wordOrLine(r rune) rune {
	if r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' {
		return r
	}
	return '_'
}
