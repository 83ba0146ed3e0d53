package sandbox

import "strings"

// signs are what programs print when a sandbox stops them, with what it means.
var signs = []struct{ text, means string }{
	{"read-only file system", "a file outside of the workspace, or one that decides what runs later, cannot be changed"},
	{"erofs", "a file outside of the workspace, or one that decides what runs later, cannot be changed"},
	// Git replaces files one after the other, and stops here.
	{"device or resource busy", "a file that decides what runs later cannot be changed; what git has changed before stays changed"},
	{"could not resolve host", "the network cannot be reached"},
	{"temporary failure in name resolution", "the network cannot be reached"},
	{"name or service not known", "the network cannot be reached"},
	{"network is unreachable", "the network cannot be reached"},
	{"no such host", "the network cannot be reached"},
	{"eai_again", "the network cannot be reached"},
	{"enotfound", "the network cannot be reached"},
	{"enetunreach", "the network cannot be reached"},
	{"server misbehaving", "the network cannot be reached"},
	{"cannot connect to the docker daemon", "no service of the machine can be reached"},
	{"could not open a connection to your authentication agent", "no service of the machine can be reached"},
	{"address family not supported", "sockets of this kind cannot be made"},
}

// denied are signs that have other causes as well, outside of level full.
var denied = []string{"permission denied", "eacces", "operation not permitted", "eperm"}

// signSize is how much of the end of an output is searched, in bytes.
const signSize = 16 << 10

// Sign returns what a sandbox probably has to do with the failure of a program, by what it printed;
// "": nothing.
func Sign(printed string) string {
	text := strings.ToLower(printed[max(0, len(printed)-signSize):])
	for _, s := range signs {
		if strings.Contains(text, s.text) {
			return s.means
		}
	}
	for _, d := range denied {
		if strings.Contains(text, d) {
			return "a file or a service cannot be reached"
		}
	}
	return ""
}
