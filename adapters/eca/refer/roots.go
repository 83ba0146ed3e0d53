package refer

import (
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"dragoman/adapters/proto/eca"
)

// Roots lists the folders of a workspace: absolute, clean, each once. What is no
// file is left out.
func Roots(folders []eca.WorkspaceFolder) (roots []string) {
	for _, f := range folders {
		if dir := PathOf(f.URI); dir != "" && !slices.Contains(roots, dir) {
			roots = append(roots, dir)
		}
	}
	return roots
}

// PathOf is the path that a file URI names, percent-decoded; a plain absolute path
// is taken as it is. It returns "" for anything else.
func PathOf(uri string) string {
	if filepath.IsAbs(uri) {
		return filepath.Clean(uri)
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = windowsPath(u.Host, path)
	}
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}

// windowsPath makes C:/x of /C:/x, and //host/x of /x on a host.
func windowsPath(host, path string) string {
	if host != "" && !strings.EqualFold(host, "localhost") {
		return "//" + host + path
	}
	if len(path) > 2 && path[0] == '/' && path[2] == ':' {
		return path[1:]
	}
	return path
}

// URIOf is the file URI of a path. lines, 1-based and inclusive, becomes its
// fragment; the zero value: the whole file.
func URIOf(path string, lines [2]int) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	u := url.URL{Scheme: "file", Path: slashed}
	if lines[0] > 0 {
		u.Fragment = "L" + strconv.Itoa(lines[0])
		if lines[1] > lines[0] {
			u.Fragment += "-L" + strconv.Itoa(lines[1])
		}
	}
	return u.String()
}
