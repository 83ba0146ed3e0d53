package guide

import (
	"errors"
	"fmt"
	"strings"

	"dragoman/core/glob"
)

const maxPattern = 256 // bytes of a regular expression

// parseGlob parses a glob for paths with slashes, relative to a workspace folder. A
// glob without a slash matches names in any folder, one that ends in a slash
// everything in that folder.
func parseGlob(pattern string) (*glob.Pattern, error) {
	if len(pattern) > glob.MaxPath {
		return nil, fmt.Errorf("it is longer than %d bytes", glob.MaxPath)
	}
	p := strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	switch {
	case p == "":
		return nil, errors.New("it is empty")
	case p[0] == '!':
		return nil, errors.New("! at the start excludes nothing here")
	case strings.HasSuffix(p, "/"):
		p += "**/*"
	case !strings.Contains(p, "/"):
		p = "**/" + p
	}
	return glob.Path(p)
}
