package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/core/child"
	"dragoman/core/display"
)

const (
	installFor = 15 * time.Minute // for npm and uv, which download
	askFor     = time.Minute      // for what npm knows about a package
	maxOutput  = 1 << 20          // bytes of the output of npm and uv that are read
)

// Variables that npm and uv get besides the harmless ones: where packages come from.
var (
	npmVariables = []string{
		"NPM_CONFIG_REGISTRY", "npm_config_registry", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "NPM_CONFIG_CACHE", "npm_config_cache",
		"NPM_TOKEN", "NODE_AUTH_TOKEN", "NODE_USE_SYSTEM_CA", "NODE_USE_ENV_PROXY",
	}
	uvVariables = []string{
		"UV_INDEX", "UV_INDEX_*", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_CONFIG_FILE", "UV_PYTHON", "UV_PYTHON_*", "UV_NATIVE_TLS", "UV_OFFLINE",
		"PIP_INDEX_URL",
	}
)

// npmPackage describes a package, in npm's registry or in a package.json.
type npmPackage struct {
	Name    string          `json:"name"`
	Version string          `json:"version"`
	License any             `json:"license"`
	Bin     json.RawMessage `json:"bin"`
	Engines struct {
		Node string `json:"node"`
	} `json:"engines"`
	Scripts map[string]string `json:"scripts"`
	Dist    struct {
		Integrity string `json:"integrity"`
		Tarball   string `json:"tarball"`
	} `json:"dist"`
}

// planNPM asks npm about a package, and compares the Node that it needs with the one that is there.
func (i *Installer) planNPM(ctx context.Context, p *Plan) error {
	spec := p.Choice.Package + "@" + p.Choice.Version
	node, version, err := i.node(ctx)
	if err != nil {
		return fmt.Errorf("agent %s is the npm package %s: %w", p.Agent.ID, spec, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askFor, fmt.Errorf("npm did not answer within %v", askFor))
	defer cancel()
	out, err := i.run(ctx, os.TempDir(), "npm", npmVariables, nil,
		"view", spec, "--json", "--loglevel=error", "--fetch-retries=1", "name", "version", "license", "bin", "engines", "scripts", "dist")
	if err != nil {
		return fmt.Errorf("look up the npm package %s: %w", spec, err)
	}
	var is npmPackage
	if err := json.Unmarshal(out, &is); err != nil || is.Version != p.Choice.Version {
		return fmt.Errorf("npm does not know the package %s: %s", spec, display.Line(string(out), 300))
	}
	p.Source = "npm package " + spec
	if is.Dist.Tarball != "" {
		p.Source += " (" + display.Line(is.Dist.Tarball, 200) + ")"
	}
	p.Check = "npm compares it with " + display.Line(is.Dist.Integrity, 120) + " and its dependencies with those of npm's registry; the registry of agents has no sum"
	if is.Dist.Integrity == "" {
		p.Check = "nothing: npm's registry has no sum for it"
	}
	if license, ok := is.License.(string); ok && p.License == "" {
		p.License = display.Line(license, 100)
	}
	p.Needs = "node (" + version + ": " + node + ")"
	if need := is.Engines.Node; need != "" {
		fits, known := satisfies(version, need)
		switch {
		case known && !fits:
			return fmt.Errorf("the npm package %s needs node %s, and %s is %s; install another one, or put it first in PATH", spec, display.Line(need, 60), node, version)
		case known:
			p.Needs = "node " + display.Line(need, 60) + ", and " + node + " is " + version
		default:
			p.Needs = "node " + display.Line(need, 60) + ", which is not understood here; " + node + " is " + version
		}
	}
	if p.bin, err = is.program(p.Choice.Program); err != nil {
		return fmt.Errorf("npm package %s: %w", spec, err)
	}
	p.Scripts = is.installScripts(p.Choice.Package)
	p.Command = append(nodeCommand(node, filepath.Join(Folder, "node_modules", filepath.FromSlash(p.Choice.Package), filepath.FromSlash(p.bin))), p.Choice.Args...)
	return nil
}

// installScripts lists what a package wants to run when it is installed.
func (p npmPackage) installScripts(name string) (list []string) {
	for _, event := range []string{"preinstall", "install", "postinstall"} {
		if script := p.Scripts[event]; script != "" {
			list = append(list, name+" ("+event+"): "+display.Line(script, 200))
		}
	}
	return list
}

// program returns the path in a package of one of its programs; without a name, of that which is called
// like the package, or of its only one.
func (p npmPackage) program(name string) (string, error) {
	base := path.Base(p.Name)
	bin := map[string]string{}
	var only string
	if json.Unmarshal(p.Bin, &only) == nil {
		bin[base] = only
	} else if err := json.Unmarshal(p.Bin, &bin); err != nil {
		return "", errors.New("it has no program")
	}
	names := slices.Sorted(maps.Keys(bin))
	file, ok := bin[name]
	switch {
	case name == "" && bin[base] != "":
		file, ok = bin[base], true
	case name == "" && len(names) == 1:
		file, ok = bin[names[0]], true
	case name == "" && allSame(bin):
		file, ok = bin[names[0]], true
	}
	clean := path.Clean(strings.TrimPrefix(file, "./"))
	switch {
	case !ok:
		return "", fmt.Errorf("it has no program %q; there is %s", name, display.Line(strings.Join(names, ", "), 200))
	case !filepath.IsLocal(filepath.FromSlash(clean)) || strings.ContainsAny(clean, "\\:\x00"):
		return "", fmt.Errorf("its program %q is not in it", display.Line(file, 100))
	}
	return clean, nil
}

func allSame(bin map[string]string) bool {
	seen := map[string]bool{}
	for _, file := range bin {
		seen[file] = true
	}
	return len(seen) == 1
}

// nodeCommand returns the command for a file of a package: node runs it, unless it is a program by itself.
func nodeCommand(node, file string) []string {
	if slices.Contains([]string{".js", ".mjs", ".cjs", ""}, path.Ext(filepath.ToSlash(file))) {
		return []string{node, file}
	}
	return []string{file}
}

// node finds node, and returns its version.
func (i *Installer) node(ctx context.Context) (path, version string, err error) {
	if path, err = i.find("node"); err == nil {
		_, err = i.find("npm")
	}
	if err != nil {
		return "", "", fmt.Errorf("%w; install Node.js, version 22 or later, which has both", err)
	}
	out, err := i.run(ctx, os.TempDir(), path, nil, nil, "--version")
	return path, strings.TrimSpace(string(out)), err
}

// find returns the path of a program.
func (i *Installer) find(name string) (string, error) {
	return child.Find(name, []string{"PATH=" + child.Lookup(i.Environ(), "PATH")}, "")
}

// run runs a program in a folder, with a safe part of the environment and variables of the given names.
func (i *Installer) run(ctx context.Context, dir, program string, names, more []string, args ...string) ([]byte, error) {
	path, err := i.find(program)
	if err != nil {
		return nil, err
	}
	var out, errs limited
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(child.Environ(i.Environ(), names), more...)
	how, err := child.Run(ctx, cmd)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case !how.Success():
		said := strings.TrimSpace(errs.String() + "\n" + out.String())
		return nil, fmt.Errorf("%s: %s: %s", filepath.Base(path), how, display.CutEnd(display.Printable(said), 2000))
	}
	return out.Bytes(), nil
}

// limited keeps the first bytes of an output.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxOutput - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

// installNPM installs a package of npm, first without its scripts. Those that it and its dependencies
// have run only if that is agreed to.
func (i *Installer) installNPM(ctx context.Context, p Plan, dir string, done *Installed, scripts func([]string) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, installFor, fmt.Errorf("npm did not end within %v", installFor))
	defer cancel()
	// A package.json makes the folder the project: npm looks for one in the folders above.
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{\"name\": \"dragoman-agent\", \"private\": true}\n"), 0o600); err != nil {
		return err
	}
	always := []string{"--prefix", dir, "--global=false", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--fetch-retries=1"}
	args := append([]string{"install", "--ignore-scripts", "--omit=dev", "--save-exact", "--install-strategy=hoisted"}, always...)
	if _, err := i.run(ctx, dir, "npm", npmVariables, nil, append(args, p.Choice.Package+"@"+p.Choice.Version)...); err != nil {
		return err
	}
	want, err := scripted(dir)
	if err != nil {
		return err
	}
	if len(want) > 0 {
		yes := false
		if scripts != nil {
			if yes, err = scripts(want); err != nil {
				return err
			}
		}
		if yes {
			args := append([]string{"rebuild", "--ignore-scripts=false", "--foreground-scripts"}, always...)
			if _, err := i.run(ctx, dir, "npm", npmVariables, nil, args...); err != nil {
				return err
			}
		} else {
			done.Scripts = want
		}
	}
	top := filepath.Join(dir, "node_modules", filepath.FromSlash(p.Choice.Package))
	is, err := readPackage(top)
	if err != nil {
		return err
	}
	if is.Version != p.Choice.Version {
		return fmt.Errorf("npm has installed version %s of %s, and not %s", display.Line(is.Version, 64), p.Choice.Package, p.Choice.Version)
	}
	program, err := is.program(p.Choice.Program)
	if err != nil {
		return err
	}
	file, err := inside(top, program)
	if err != nil {
		return err
	}
	node, _, err := i.node(ctx)
	if err != nil {
		return err
	}
	done.Command = nodeCommand(node, linked(dir, file))
	return nil
}

// linked returns the link in node_modules/.bin that leads to a file, whose name says what it is; without
// one, the file.
func linked(dir, file string) string {
	bin := filepath.Join(dir, "node_modules", ".bin")
	entries, err := os.ReadDir(bin)
	if err != nil {
		return file
	}
	for _, e := range entries {
		path := filepath.Join(bin, e.Name())
		if to, err := filepath.EvalSymlinks(path); err == nil && to == file && filepath.Ext(path) == "" && to != path {
			return path
		}
	}
	return file
}

func readPackage(dir string) (p npmPackage, err error) {
	path, err := inside(dir, "package.json")
	if err != nil {
		return p, err
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read %s: %w", path, err)
	}
	return p, nil
}

// scripted lists the packages of an installation that have install scripts.
func scripted(dir string) (list []string, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if errors.Is(err, os.ErrNotExist) {
		data, err = os.ReadFile(filepath.Join(dir, "package-lock.json"))
	}
	if err != nil {
		return nil, fmt.Errorf("npm has left no list of what it has installed: %w", err)
	}
	var lock struct {
		Packages map[string]struct {
			Version          string `json:"version"`
			HasInstallScript bool   `json:"hasInstallScript"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("read what npm has installed: %w", err)
	}
	for _, at := range slices.Sorted(maps.Keys(lock.Packages)) {
		if !lock.Packages[at].HasInstallScript || !filepath.IsLocal(filepath.FromSlash(at)) {
			continue
		}
		name := at[strings.LastIndex(at, "node_modules/")+len("node_modules/"):]
		p, err := readPackage(filepath.Join(dir, filepath.FromSlash(at)))
		if err != nil { // an optional one that is not for this system
			continue
		}
		if own := p.installScripts(name); len(own) > 0 {
			list = append(list, own...)
		} else {
			list = append(list, name+" (node-gyp rebuild)")
		}
	}
	return list, nil
}

// planPyPI prepares the installation of a package of PyPI by uv.
func (i *Installer) planPyPI(ctx context.Context, p *Plan) error {
	spec := p.Choice.Package + "==" + p.Choice.Version
	uv, err := i.find("uv")
	if err != nil {
		return fmt.Errorf("agent %s is the Python package %s, which uv installs, and uv is not there; install it (https://docs.astral.sh/uv/), or install the agent yourself and add its command: dragoman agents add NAME -- COMMAND", p.Agent.ID, spec)
	}
	out, err := i.run(ctx, os.TempDir(), uv, nil, nil, "--version")
	if err != nil {
		return err
	}
	p.Source = "Python package " + spec + " (PyPI, or the index that uv is set to)"
	p.Check = "uv compares it with the sums of the index; the registry of agents has none"
	p.Needs = "uv, and " + uv + " is " + display.Line(string(out), 60)
	p.Command = append([]string{filepath.Join(Folder, "bin", programName(p.Choice.Program, p.Choice.Package))}, p.Choice.Args...)
	return nil
}

func programName(name, of string) string {
	if name == "" {
		return of
	}
	return name
}

// installPyPI has uv install a package, of which nothing is built unless that is agreed to.
func (i *Installer) installPyPI(ctx context.Context, p Plan, dir string, done *Installed, scripts func([]string) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, installFor, fmt.Errorf("uv did not end within %v", installFor))
	defer cancel()
	spec := p.Choice.Package + "==" + p.Choice.Version
	bin := filepath.Join(dir, "bin")
	more := []string{"UV_TOOL_DIR=" + filepath.Join(dir, "tools"), "UV_TOOL_BIN_DIR=" + bin, "UV_LINK_MODE=copy", "UV_NO_PROGRESS=1"}
	args := []string{"tool", "install", "--compile-bytecode", "--no-build", spec}
	_, err := i.run(ctx, dir, "uv", uvVariables, more, args...)
	if err != nil && ctx.Err() == nil && scripts != nil && strings.Contains(err.Error(), "no-build") {
		yes, failed := scripts([]string{spec + " or what it needs: it has to be built, which runs programs of the package"})
		if failed != nil {
			return failed
		}
		if yes {
			_, err = i.run(ctx, dir, "uv", uvVariables, more, slices.DeleteFunc(args, func(a string) bool { return a == "--no-build" })...)
		}
	}
	if err != nil {
		return err
	}
	name := programName(p.Choice.Program, p.Choice.Package)
	path := filepath.Join(bin, name)
	if _, err := exec.LookPath(path); err != nil {
		var names []string
		if entries, err := os.ReadDir(bin); err == nil {
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
		if p.Choice.Program != "" || len(names) != 1 {
			return fmt.Errorf("%s has no program %s; there is %s", spec, name, display.Line(strings.Join(names, ", "), 200))
		}
		path = filepath.Join(bin, names[0])
	}
	done.Command = []string{path}
	// What Python writes beside its files would look like a change of them.
	env := map[string]string{"PYTHONDONTWRITEBYTECODE": "1"}
	maps.Copy(env, done.Env)
	done.Env = env
	return nil
}
