package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// clients is the folder of npm's clients, installed once.
var clients = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("clients")
	if err != nil {
		return "", err
	}
	return dir, install(dir)
})

// needClients returns the folder of the clients, or skips; with CI=true it fails.
func needClients(t testing.TB) string {
	t.Helper()
	dir, err := clients()
	return needed(t, dir, err)
}

// programs are the installed folders of hosts and agents, by name.
var programs sync.Map

// needPrograms returns the folder with what npm installs for a folder, such as hosts/codex, or skips; with
// CI=true it fails. The folder is in the user's cache: these programs have hundreds of megabytes.
func needPrograms(t testing.TB, folder string) string {
	t.Helper()
	once, _ := programs.LoadOrStore(folder, sync.OnceValues(func() (string, error) { return cached(filepath.FromSlash(folder)) }))
	dir, err := once.(func() (string, error))()
	return filepath.Join(needed(t, dir, err), "node_modules")
}

// needProgram returns the path of a program of needPrograms that matches a pattern.
func needProgram(t testing.TB, folder, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(needPrograms(t, folder), filepath.FromSlash(pattern)))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("npm has no %s of %s for %s/%s", pattern, folder, runtime.GOOS, runtime.GOARCH)
	}
	return needed(t, strings.Join(found[:min(len(found), 1)], ""), err)
}

// needed returns an installed folder, or skips if there was an error; with CI=true it fails.
func needed(t testing.TB, dir string, err error) string {
	t.Helper()
	switch {
	case err == nil:
		return dir
	case os.Getenv("CI") == "true":
		t.Fatalf("the npm clients are needed here: %v", err)
	default:
		t.Skipf("without the npm clients: %v", err)
	}
	return ""
}

// cached installs a copy of a folder in the user's cache, unless it is there.
func cached(folder string) (string, error) {
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "dragoman-e2e", fmt.Sprintf("%s-%.6x", filepath.Base(folder), sha256.Sum256(lock)))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made) //nolint:errcheck // it is not there any more if all went well
	if err := os.CopyFS(made, os.DirFS(folder)); err != nil {
		return "", err
	}
	if err := install(made); err != nil {
		return "", err
	}
	if err := os.Rename(made, dir); err != nil {
		_, there := os.Stat(dir) // another process was quicker
		return dir, there
	}
	return dir, nil
}

// install installs into a folder what its package-lock.json says, unless that is there.
func install(dir string) error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("node is not installed")
	}
	want, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	stamp := filepath.Join(dir, "node_modules", ".installed-lock")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, want) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--engine-strict=false")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %v\n%s", err, text)
	}
	return os.WriteFile(stamp, want, 0o600)
}
