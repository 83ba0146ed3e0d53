package refer

import (
	"path/filepath"
	"slices"
	"strconv"

	"dragoman/adapters/proto/eca"
	"dragoman/core/fileuri"
)

// Roots lists the folders of a workspace: absolute, clean, each once. URIs other than file URIs
// are left out.
func Roots(folders []eca.WorkspaceFolder) (roots []string) {
	for _, f := range folders {
		if dir := PathOf(f.URI); dir != "" && !slices.Contains(roots, dir) {
			roots = append(roots, dir)
		}
	}
	return roots
}

// PathOf returns the path of a file URI, percent-decoded; a plain absolute path is returned
// unchanged. It returns "" for anything else.
func PathOf(uri string) string {
	if filepath.IsAbs(uri) {
		return filepath.Clean(uri)
	}
	path, err := fileuri.PathOrShare(uri)
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}

// URIOf returns the file URI of a path. lines, 1-based and inclusive, becomes its fragment; the
// zero value: the whole file.
func URIOf(path string, lines [2]int) string {
	uri := fileuri.Of(path)
	if lines[0] > 0 {
		uri += "#L" + strconv.Itoa(lines[0])
		if lines[1] > lines[0] {
			uri += "-L" + strconv.Itoa(lines[1])
		}
	}
	return uri
}
