package bridge

import (
	"runtime"
	"slices"
	"strings"
)

// safeNames are the variables that a server gets without having been given them:
// what programs need to run at all, to find their files and to reach the network.
// Nothing here holds a secret.
var safeNames = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true, "LANG": true, "LANGUAGE": true, "TZ": true, "TMPDIR": true,
	"XDG_CACHE_HOME": true, "XDG_CONFIG_HOME": true, "XDG_DATA_HOME": true, "XDG_RUNTIME_DIR": true, "XDG_STATE_HOME": true,
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "NO_PROXY": true, "ALL_PROXY": true, "http_proxy": true, "https_proxy": true, "no_proxy": true, "all_proxy": true,
	"SSL_CERT_FILE": true, "SSL_CERT_DIR": true, "NODE_EXTRA_CA_CERTS": true, "REQUESTS_CA_BUNDLE": true,
	"NVM_DIR": true, "VOLTA_HOME": true, "FNM_DIR": true, "ASDF_DIR": true, "MISE_DATA_DIR": true, "PYENV_ROOT": true, "GOPATH": true, "GOROOT": true, "CARGO_HOME": true,
	"DOCKER_HOST": true, "DISPLAY": true, "WAYLAND_DISPLAY": true,
	chainName: true,
}

// chainName is the variable by which gateways that start each other notice that.
const chainName = "DRAGOMAN_CHAIN"

// windowsNames are those of Windows, in upper case.
var windowsNames = []string{
	"PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "TEMP", "TMP", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "PROCESSOR_ARCHITECTURE",
	"NUMBER_OF_PROCESSORS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", chainName,
}

// childEnv is the environment of a server: the safe part of ours, and what it is
// given, in a fixed order.
func childEnv(ours []string, given map[string]string) []string {
	var env []string
	for _, kv := range ours {
		name, _, ok := strings.Cut(kv, "=")
		if _, replaced := given[name]; ok && !replaced && safeName(name) {
			env = append(env, kv)
		}
	}
	for name, value := range given {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func safeName(name string) bool {
	if runtime.GOOS == "windows" {
		return slices.Contains(windowsNames, strings.ToUpper(name))
	}
	return safeNames[name] || strings.HasPrefix(name, "LC_")
}

// lookup finds a variable; the last one of a name counts.
func lookup(env []string, name string) (value string) {
	for _, kv := range env {
		n, v, _ := strings.Cut(kv, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}
