package terminal

import (
	"io"
	"os"

	"dragoman/configs"
)

// Palette paints text for a terminal; the zero value leaves it unchanged.
type Palette struct{ on bool }

// Colours returns a palette that paints only for terminals, and not if NO_COLOR is set
// (https://no-color.org).
func Colours(out io.Writer, env configs.Env) Palette {
	f, ok := out.(*os.File)
	if v, _ := env("NO_COLOR"); v != "" || !ok || !Is(f) {
		return Palette{}
	}
	if term, _ := env("TERM"); term == "dumb" {
		return Palette{}
	}
	return Palette{true}
}

func (p Palette) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Strong paints a heading, bold.
func (p Palette) Strong(s string) string { return p.paint("1", s) }

// Faint paints less important text, dim.
func (p Palette) Faint(s string) string { return p.paint("2", s) }

// Good paints a good result green.
func (p Palette) Good(s string) string { return p.paint("32", s) }

// Bad paints a failure red.
func (p Palette) Bad(s string) string { return p.paint("31", s) }

// Warm paints a warning, yellow.
func (p Palette) Warm(s string) string { return p.paint("33", s) }

// Cool paints progress cyan.
func (p Palette) Cool(s string) string { return p.paint("36", s) }
