package main

import (
	"io"
	"os"

	"dragoman/configs"
)

// palette paints text for a terminal; the zero value leaves it as it is.
type palette struct{ on bool }

// colours paints only for terminals, and not where NO_COLOR is set
// (https://no-color.org).
func colours(out io.Writer, env configs.Env) palette {
	f, ok := out.(*os.File)
	if v, _ := env("NO_COLOR"); v != "" || !ok || !isTerminal(f) {
		return palette{}
	}
	if term, _ := env("TERM"); term == "dumb" {
		return palette{}
	}
	return palette{true}
}

func (p palette) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) strong(s string) string { return p.paint("1", s) }
func (p palette) faint(s string) string  { return p.paint("2", s) }
func (p palette) good(s string) string   { return p.paint("32", s) }
func (p palette) bad(s string) string    { return p.paint("31", s) }
func (p palette) warm(s string) string   { return p.paint("33", s) }
func (p palette) cool(s string) string   { return p.paint("36", s) }
