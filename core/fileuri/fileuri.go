// Package fileuri converts between the paths of files and their URIs.
//
// # What holds
//
//   - [Path] returns no path for what another host has, in whichever form: Windows would log in
//     there as this user.
//   - A query or a fragment is refused, not dropped: it is part of a name that was not escaped.
//   - The letter of a drive comes first on every system, so that a URI of Windows is no absolute
//     path elsewhere. Whether a path is absolute here is its user's to check.
package fileuri

import (
	"errors"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

var (
	errInvalid = errors.New("is not a valid URI")
	errForeign = errors.New("is not the URI of a local file: " +
		"write file:///absolute/path, with %3F for ? and %23 for #")
)

// Of returns the URI of an absolute path.
func Of(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/…
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// Path returns the path that the URI of a file of this machine names. The error completes a
// sentence that begins with the URI.
func Path(uri string) (string, error) {
	host, path, err := parse(uri)
	if err == nil && (host != "" || runtime.GOOS == "windows" && strings.HasPrefix(path, "//")) {
		err = errForeign
	}
	if err != nil {
		return "", err
	}
	return filepath.FromSlash(local("", path)), nil
}

// PathOrShare returns what Path does, and on Windows also the path of a share of another host.
// It is for folders that the user's own editor has opened.
func PathOrShare(uri string) (string, error) {
	if runtime.GOOS != "windows" {
		return Path(uri)
	}
	host, path, err := parse(uri)
	if err != nil {
		return "", err
	}
	return filepath.FromSlash(local(host, path)), nil
}

// parse takes a file URI apart. host is "" for this machine.
func parse(uri string) (host, path string, err error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", "", errInvalid
	}
	if u.Scheme != "file" || u.Opaque != "" || u.User != nil ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", "", errForeign
	}
	if !strings.EqualFold(u.Host, "localhost") {
		host = u.Host
	}
	return host, u.Path, nil
}

// local returns C:/x for /C:/x, and //host/x for /x on a host.
func local(host, path string) string {
	if host != "" {
		return "//" + host + path
	}
	if len(path) > 2 && path[0] == '/' && path[2] == ':' {
		return path[1:]
	}
	return path
}
