package child

import (
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Safe lists the variables that a program gets without being given them: what
// programs need to run at all, to find their tools and files, to speak the user's
// language and to reach the network. A name that ends in * matches every name with that
// beginning. Nothing here is a secret, leads to one (as SSH_AUTH_SOCK does), or makes a program
// load or run something (as LD_PRELOAD, PYTHONPATH and GIT_SSH_COMMAND do).
var Safe = []string{
	// Who and where.
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "TERM", "COLORTERM", "NO_COLOR", "CI", "TMPDIR", "TMP", "TEMP",
	"LANG", "LANGUAGE", "LC_*", "LOCPATH", "LOCALE_ARCHIVE", "TZ", "TZDIR", "SOURCE_DATE_EPOCH",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_BIN_HOME",
	"DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "WSL_INTEROP",

	// The network.
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "DOCKER_HOST",

	// Who commits.
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",

	// Where toolchains and their stores are, and which of them is meant.
	"GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOTMPDIR", "GOENV", "GOFLAGS", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOTOOLCHAIN",
	"GOOS", "GOARCH", "GOEXPERIMENT", "GOWORK", "CGO_ENABLED",
	"CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUST_BACKTRACE",
	"NVM_DIR", "NVM_BIN", "VOLTA_HOME", "FNM_DIR", "FNM_MULTISHELL_PATH", "N_PREFIX", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "COREPACK_HOME", "NODE_ENV",
	"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION", "PIPX_HOME", "POETRY_HOME", "UV_CACHE_DIR", "PIP_CACHE_DIR",
	"JAVA_HOME", "JDK_HOME", "MAVEN_HOME", "M2_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "KOTLIN_HOME", "SDKMAN_DIR", "ANDROID_HOME", "ANDROID_SDK_ROOT",
	"GEM_HOME", "GEM_PATH", "RBENV_ROOT", "RBENV_VERSION", "RUBY_ROOT", "COMPOSER_HOME", "MIX_HOME", "HEX_HOME", "DOTNET_ROOT", "FLUTTER_ROOT", "PUB_CACHE",
	"ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "NIX_PATH", "NIX_PROFILES",
	"SDKROOT", "DEVELOPER_DIR", "MACOSX_DEPLOYMENT_TARGET",
}

// safeOnWindows lists the variables that are safe on Windows in addition to Safe.
var safeOnWindows = []string{
	"PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "USERPROFILE", "USERNAME", "USERDOMAIN", "COMPUTERNAME", "HOMEDRIVE", "HOMEPATH", "OS",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "ALLUSERSPROFILE", "PUBLIC", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432",
	"COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS", "PSMODULEPATH",
}

// Named reports whether a variable is in a list that is written like Safe. On
// Windows case does not matter.
func Named(list []string, name string) bool {
	return slices.ContainsFunc(list, func(known string) bool {
		if prefix, ok := strings.CutSuffix(known, "*"); ok && len(name) >= len(prefix) {
			return sameName(name[:len(prefix)], prefix)
		}
		return sameName(name, known)
	})
}

func sameName(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// Environ returns the part of an environment that a program gets: the variables in Safe,
// with logins removed from addresses, and those in more, unchanged.
func Environ(env, more []string) []string {
	var out []string
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || name == "": // Windows has names that begin with =; programs do without them
		case Named(more, name):
			out = append(out, kv)
		case Named(Safe, name), runtime.GOOS == "windows" && Named(safeOnWindows, name):
			out = append(out, name+"="+withoutLogins(name, value))
		}
	}
	return out
}

// withoutLogins returns a variable's value without the logins in its addresses. That of a
// proxy is one address, which needs no scheme.
func withoutLogins(name, value string) string {
	if !strings.HasSuffix(strings.ToLower(name), "_proxy") {
		return login().ReplaceAllString(value, "://")
	}
	host := strings.LastIndexByte(value, '@') + 1
	if scheme, _, ok := strings.Cut(value[:host], "://"); ok {
		return scheme + "://" + value[host:]
	}
	return value[host:]
}

// login matches a login within an address. The last @ ends it, since one may be part of a
// password.
var login = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`://[^/\s]*@`) })

// Lookup finds a variable; the last one of that name counts.
func Lookup(env []string, name string) (value string) {
	for _, kv := range env {
		n, v, _ := strings.Cut(kv, "=")
		if sameName(n, name) {
			value = v
		}
	}
	return value
}
