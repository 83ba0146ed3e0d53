package files

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// keyFolders are the folders in which programs keep keys and passwords. In a folder with a list
// of names only these hold keys.
var keyFolders = map[string][]string{
	".ssh":            nil,
	".gnupg":          nil,
	".aws":            nil,
	".azure":          nil,
	".kube":           nil,
	".password-store": nil,
	"keyrings":        nil,
	"keychains":       nil,
	".config":         {"gcloud", "gh", "op"},
	".docker":         {"config.json"},
}

// keyFiles are files that hold nothing else, wherever they are.
var keyFiles = []string{
	".netrc",
	"_netrc",
	".pgpass",
	".git-credentials",
	".pypirc",
	"id_rsa",
	"id_dsa",
	"id_ecdsa",
	"id_ed25519",
	"id_ecdsa_sk",
	"id_ed25519_sk",
}

// KeepsKeys reports whether programs keep keys and passwords at an absolute path, or in a folder
// above it. It goes by names alone, so links must already be resolved.
func KeepsKeys(path string) bool {
	names := strings.Split(strings.ToLower(filepath.ToSlash(path)), "/")
	for i, name := range names {
		inner, ok := keyFolders[name]
		if ok && (inner == nil || i+1 < len(names) && slices.Contains(inner, names[i+1])) {
			return true
		}
	}
	return slices.Contains(keyFiles, names[len(names)-1])
}

// KeepsKeysIn is KeepsKeys for a name in a folder, of which the last name is given, that keeps none
// itself.
func KeepsKeysIn(folder, name string) bool {
	name = strings.ToLower(name)
	inner, ok := keyFolders[name]
	return ok && inner == nil || slices.Contains(keyFolders[strings.ToLower(folder)], name) || slices.Contains(keyFiles, name)
}

// KeyFile reports whether the name of a file says that it holds keys or passwords, be it a file
// of the user's or of a project's.
func KeyFile(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case ".npmrc", ".htpasswd", "credentials.json", "service-account.json":
		return true
	case ".env.example", ".env.sample", ".env.template", ".env.dist":
		return false
	}
	if slices.Contains(keyFiles, name) || name == ".env" || strings.HasPrefix(name, ".env.") ||
		strings.HasPrefix(name, "id_") && !strings.Contains(name, ".") {
		return true
	}
	switch filepath.Ext(name) {
	case ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk":
		return true
	}
	return false
}

// KeyPlaces lists where programs keep keys and passwords in a home folder. What is listed need not
// exist.
func KeyPlaces(home string) []string {
	var list []string
	for _, folder := range slices.Sorted(maps.Keys(keyFolders)) {
		inner := keyFolders[folder]
		if inner == nil && strings.HasPrefix(folder, ".") {
			list = append(list, filepath.Join(home, folder))
		}
		for _, name := range inner {
			list = append(list, filepath.Join(home, folder, name))
		}
	}
	for _, name := range append(slices.Clone(keyFiles), homeKeys...) {
		list = append(list, filepath.Join(home, filepath.FromSlash(name)))
	}
	return list
}

// homeKeys are further places in a home folder that hold logins: of packet registries, browsers,
// mail programs and agents.
var homeKeys = []string{
	".npmrc", ".yarnrc.yml", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
	".gradle/gradle.properties", ".config/pip/pip.conf", ".config/hub", ".config/glab-cli", ".config/rclone", ".config/doctl",
	".config/age", ".config/sops", ".local/share/keyrings", ".terraform.d/credentials.tfrc.json", ".vault-token", ".boto", ".s3cfg",
	".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
	".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".config/github-copilot",
	".local/share/opencode/auth.json", ".config/goose/secrets.yaml", "Library/Keychains",
}
