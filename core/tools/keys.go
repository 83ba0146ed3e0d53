package tools

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// errKeys says why something is not read that a person refers to.
var errKeys = errors.New("keys and passwords are kept there: it is not sent to a model; paste what is needed")

// refuseKeys refuses the places outside of the workspace where programs keep keys
// and passwords. Whoever attaches a file there hardly means to send those.
func refuseKeys(p place) error {
	if p.root != nil {
		return nil
	}
	_, names := split(strings.ToLower(p.real))
	for i, name := range names {
		if slices.Contains([]string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", "keyrings", "keychains"}, name) {
			return errKeys
		}
		if name == ".config" && i+1 < len(names) && slices.Contains([]string{"gcloud", "gh", "op"}, names[i+1]) {
			return errKeys
		}
		if name == ".docker" && i+1 < len(names) && names[i+1] == "config.json" {
			return errKeys
		}
	}
	if keyFile(filepath.Base(p.real)) {
		return errKeys
	}
	return nil
}

// keyFile recognises files of keys and passwords by their names. They are never
// taken along with the folder that they are in.
func keyFile(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case ".netrc", "_netrc", ".pgpass", ".git-credentials", ".npmrc", ".pypirc", ".htpasswd", "credentials.json", "service-account.json":
		return true
	case ".env.example", ".env.sample", ".env.template", ".env.dist":
		return false
	}
	if name == ".env" || strings.HasPrefix(name, ".env.") || strings.HasPrefix(name, "id_") && !strings.Contains(name, ".") {
		return true
	}
	switch filepath.Ext(name) {
	case ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk":
		return true
	}
	return false
}
