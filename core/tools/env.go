package tools

import (
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// childEnv is the environment of a command: the given one without secrets and
// without what would change the meaning of the command's text, and without
// pagers that wait for a key.
func childEnv(env, keep []string) []string {
	set := quietly()
	var out []string
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" { // Windows has names that begin with =; commands do without them
			continue
		}
		has := func(s string) bool { return sameName(name, s) }
		if slices.ContainsFunc(keep, has) {
			out = append(out, kv)
			continue
		}
		if secretName(name) || secretValue(name, value) || steers(name) || sameName(name, "PWD") || sameName(name, "OLDPWD") {
			continue
		}
		if slices.ContainsFunc(set, func(s string) bool { n, _, _ := strings.Cut(s, "="); return has(n) }) {
			continue
		}
		out = append(out, kv)
	}
	return append(out, set...)
}

// quietly keeps programs from colours, pagers and questions.
func quietly() []string {
	return []string{"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "GIT_TERMINAL_PROMPT=0"}
}

func sameName(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// secretName recognises variables that hold secrets by their name.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range []string{"TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	if strings.HasPrefix(name, "DRAGOMAN_") {
		return true
	}
	for _, word := range strings.Split(name, "_") {
		switch word {
		case "KEY", "KEYS", "AUTH", "PASS", "PWD", "PAT", "COOKIE", "JWT", "DSN":
			return name != "PWD" && name != "OLDPWD"
		}
	}
	return false
}

// secretValue recognises a password within a URL. Proxies are left: without them
// nothing reaches the network.
func secretValue(name, value string) bool {
	return strings.Contains(value, "://") && !strings.HasSuffix(strings.ToUpper(name), "_PROXY") && withPassword(value)
}

func withPassword(value string) bool {
	ok, err := regexp.MatchString(`://[^/@\s:]*:[^/@\s]+@`, value)
	return ok || err != nil
}

// steers reports whether a variable makes the shell run something that is not in
// the command, or read the command differently.
func steers(name string) bool {
	switch name {
	case "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "IFS", "CDPATH", "GLOBIGNORE":
		return true
	}
	return strings.HasPrefix(name, "BASH_FUNC_")
}
