package sandbox

import (
	"fmt"
	"strings"
)

// seatbelt returns the profile in the language of macOS's sandbox-exec. Of two rules about one thing the
// later one counts. It is known by its text alone: nobody has run the tests of this package on macOS
// yet, so it counts for nothing where approvals are decided.
func (p Profile) seatbelt() string {
	var b strings.Builder
	rule := func(effect, what string, paths []string, by string) {
		if len(paths) == 0 {
			return
		}
		fmt.Fprintf(&b, "(%s %s", effect, what)
		for _, path := range paths {
			fmt.Fprintf(&b, " (%s %s)", by, seatbeltString(path))
		}
		b.WriteString(")\n")
	}
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	rule("allow", "file-write*", p.Write, "subpath")
	rule("allow", "file-write*", seatbeltTemporary, "subpath")
	rule("allow", "file-write*", seatbeltDevices, "literal")
	b.WriteString("(allow file-write* (regex #\"^/dev/ttys[0-9]+$\"))\n")
	rule("deny", "file-write*", p.ReadOnly, "subpath")
	rule("deny", "file-read* file-write*", p.Hidden, "subpath")
	if !p.Open {
		b.WriteString("(deny network*)\n(allow network* (local ip \"localhost:*\"))\n(allow network-outbound (remote ip \"localhost:*\"))\n")
	}
	return b.String()
}

// What programs may write in besides their workspace: there are no folders of their own in its place.
var (
	seatbeltTemporary = []string{"/private/tmp", "/private/var/tmp", "/private/var/folders"}
	seatbeltDevices   = []string{"/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper", "/dev/stdout", "/dev/stderr"}
)

// seatbeltString quotes a text.
func seatbeltString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
