package configs

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Env looks up a variable of the environment, like os.LookupEnv. A nil Env is an empty
// environment.
type Env func(name string) (value string, ok bool)

func (e Env) lookup(name string) (string, bool) {
	if e == nil {
		return "", false
	}
	return e(name)
}

// text is a string that may contain references, with its origin. The string is behind a pointer
// because fmt prints the fields of a struct, bypassing its methods, when a verb does not fit; for
// a pointer it prints the address.
type text struct{ in *content }

type content struct {
	raw  string
	from *origin // nil if it was not read from a file
}

type origin struct {
	Position
	key string
	dir string // the base of relative file references
	own bool   // it is in the user's own file
	// shared: it is in mcp.json, and may contain the references that MCP programs share.
	shared bool
}

func newText(raw string, from *origin) text { return text{&content{raw, from}} }

// IsZero reports whether the text was left out or is empty.
func (t text) IsZero() bool { return t.raw() == "" }

func (t text) raw() string {
	if t.in == nil {
		return ""
	}
	return t.in.raw
}

func (t text) from() *origin {
	if t.in == nil {
		return nil
	}
	return t.in.from
}

// shares reports whether the text may contain the references that MCP programs share. A text
// without a file is meant for mcp.json.
func (t text) shares() bool { return t.from() == nil || t.from().shared }

func (t text) written() string               { return t.raw() }
func (t *text) set(raw string, from *origin) { *t = newText(raw, from) }
func (t text) problem(message string) error  { return &Error{Problems: []Problem{t.at(message)}} }
func (t text) resolve(env Env) (string, error) {
	return expand(context.Background(), t, env, nil)
}

func (t text) at(message string) Problem {
	p := Problem{Message: message}
	if from := t.from(); from != nil {
		p.Position, p.Key = from.Position, from.key
	}
	return p
}

// A readable text is a Value, a Secret or a URL.
type readable interface {
	written() string
	hasReference() bool
}

// Value is a string in which references are expanded when it is used.
type Value struct{ text }

// NewValue returns a value that does not come from a file.
func NewValue(raw string) Value { return Value{newText(raw, nil)} }

// Resolve expands the references. It reads the files they name. The error is an *Error with the
// key and advice.
func (v Value) Resolve(env Env) (string, error) { return v.resolve(env) }

// ResolvePath is Resolve for the path of a file: a leading ~/ is the home directory, and a
// relative path starts at the configuration file's folder.
func (v Value) ResolvePath(env Env) (string, error) {
	s, err := v.resolve(env)
	if err != nil || s == "" {
		return "", err
	}
	if parts, _ := v.split(); parts[0].kind == "env" && parts[0].text == "workspaceFolder" {
		return s, nil // the result is absolute
	}
	path, err := v.path(s, env)
	if err != nil {
		return "", v.problem(err.Error())
	}
	return path, nil
}

// String returns the value as written.
func (v Value) String() string { return v.raw() }

// MarshalText returns the value as written.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.raw()), nil }

// Secret is a Value that hides its content: every printed form shows *** in place of literal
// text, and references as written.
type Secret struct{ text }

// NewSecret returns a secret that does not come from a file.
func NewSecret(raw string) Secret { return Secret{newText(raw, nil)} }

// Resolve expands the references and returns the secret itself. It reads the files they name. The
// error is an *Error with the key and advice.
func (s Secret) Resolve(env Env) (string, error) { return s.resolve(env) }

// ResolveWith is Resolve with run for the programs in the secret; it blocks while one runs.
func (s Secret) ResolveWith(ctx context.Context, env Env, run Run) (string, error) {
	return expand(ctx, s.text, env, run)
}

// ResolveSecrets resolves secrets by name, one after the other. It stops at the first error.
func ResolveSecrets(
	ctx context.Context,
	of map[string]Secret,
	env Env,
	run Run,
) (map[string]string, error) {
	values := make(map[string]string, len(of))
	for name, secret := range of {
		value, err := secret.ResolveWith(ctx, env, run)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

// RunsProgram reports whether the secret needs a program: Resolve alone fails then.
func (s Secret) RunsProgram() bool {
	parts, err := s.split()
	return err == nil && slices.ContainsFunc(parts, func(p part) bool { return p.kind == "cmd" })
}

// String returns the secret with *** in place of literal text.
func (s Secret) String() string { return mask(s.raw(), s.shares()) }

// Format prints String for every verb, also for those that print the parts of a struct.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// MarshalText returns String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML returns String.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// URL is a Value that is the address of a server. Its query and its user part are hidden, because
// they often contain keys.
type URL struct{ text }

// NewURL returns an address that does not come from a file.
func NewURL(raw string) URL { return URL{newText(raw, nil)} }

// Resolve expands the references and returns an absolute http or https URL. The error is an
// *Error with the key and advice.
func (u URL) Resolve(env Env) (string, error) {
	s, err := u.resolve(env)
	if err != nil || s == "" {
		return "", err
	}
	if wrong := badURL(s); wrong != "" {
		return "", u.problem(wrong)
	}
	return s, nil
}

// String returns the address with *** in place of its query and user part.
func (u URL) String() string { return maskURL(u.raw(), u.shares()) }

// Format prints String for every verb, also for those that print the parts of
// a struct.
func (u URL) Format(f fmt.State, _ rune) { fmt.Fprint(f, u.String()) }

// MarshalText returns String.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// MarshalYAML returns String.
func (u URL) MarshalYAML() (any, error) { return u.String(), nil }

const hidden = "***"

// mask hides the literal text of a secret. The name of an authentication scheme before a
// reference is not secret.
func mask(raw string, shared bool) string {
	if raw == "" {
		return ""
	}
	parts, err := splitIn(raw, shared)
	if err != nil {
		return hidden
	}
	var b strings.Builder
	for i, p := range parts {
		switch {
		case p.or != nil:
			b.WriteString("${" + p.text + ":-" + hidden + "}")
		case p.kind != "":
			b.WriteString(p.String())
		case i == 0 && len(parts) > 1 && isScheme(p.text):
			b.WriteString(p.text)
		default:
			b.WriteString(hidden)
		}
	}
	return b.String()
}

func isScheme(s string) bool {
	switch s {
	case "Bearer ", "bearer ", "Basic ", "basic ", "Token ", "token ":
		return true
	}
	return false
}

func maskURL(raw string, shared bool) string {
	head, query, hasQuery := strings.Cut(raw, "?")
	scheme, rest := "", head
	if i := strings.Index(head, "://"); i >= 0 {
		scheme, rest = head[:i+3], head[i+3:]
	}
	host, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = mask(host[:i], shared) + host[i:]
	}
	head = scheme + host + maskPath(path)
	if hasQuery {
		head += "?" + mask(query, shared)
	}
	return head
}

// maskPath hides names in a path that look like keys, because some services have keys there.
func maskPath(path string) string {
	names := strings.Split(path, "/")
	for i, name := range names {
		if random(name) {
			names[i] = hidden
		}
	}
	return strings.Join(names, "/")
}

// random reports whether a name looks machine-made: it has a long part with digits, or with
// capitals inside a word.
func random(name string) bool {
	if strings.Contains(name, "${") {
		return false
	}
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_.~:@", r) }) {
		switch turns := turnsOf(part); {
		case len(part) >= 8 && strings.ContainsAny(part, "0123456789"), len(part) >= 16 && 3*turns >= len(part):
			return true
		}
	}
	return false
}

// turnsOf counts the changes of a word between capitals and small letters.
func turnsOf(word string) (n int) {
	for i := 1; i < len(word); i++ {
		if (word[i] >= 'a') != (word[i-1] >= 'a') {
			n++
		}
	}
	return n
}

// badURL returns the fault in an address, or "".
func badURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return "must be an absolute http or https URL, got " + quote(maskURL(s, false))
	case u.User != nil:
		return "must not contain a user name or password; use headers"
	case u.Fragment != "":
		return "must not contain a # part"
	}
	return ""
}

// path makes a file's name absolute, relative to the text's file.
func (t text) path(name string, env Env) (string, error) {
	if name == "~" || strings.HasPrefix(name, "~/") || strings.HasPrefix(name, `~\`) {
		home, err := homeDir(env)
		if err != nil {
			return "", err
		}
		return filepath.Join(home, name[1:]), nil
	}
	from := t.from()
	if filepath.IsAbs(name) || from == nil {
		return name, nil
	}
	return filepath.Join(from.dir, name), nil
}
