// Package registry reads the registry of agents that speak ACP, and chooses what of an agent runs on
// this system.
//
// # What holds
//
//   - An agent of the registry that is not understood is left out, and affects no other.
//   - What will run is named exactly: a version is one version, and not a range or a tag; an address is
//     one that may be fetched; a path is inside of the agent's own folder.
//   - The last registry that was fetched is kept, and used when there is no connection, which is said.
package registry

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"dragoman/cmd/internal/download"
	"dragoman/core/display"
)

// Registry is a list of agents.
type Registry struct {
	Agents  []Agent
	Dropped []string // reasons why agents of it are left out
	Source  string   // where it comes from, for people
	Old     string   // why it is an older copy; empty: it is as it is now
}

// Agent is an agent of a registry.
type Agent struct {
	ID           string       `json:"id"`
	Name         string       `json:"name"`
	Version      string       `json:"version"`
	Description  string       `json:"description"`
	License      string       `json:"license"`
	LicenseURL   string       `json:"license_url"`
	Repository   string       `json:"repository"`
	Website      string       `json:"website"`
	Distribution Distribution `json:"distribution"`
}

// Distribution has the ways to install an agent.
type Distribution struct {
	Binary map[string]Binary `json:"binary"` // by platform
	NPX    *Package          `json:"npx"`
	UVX    *Package          `json:"uvx"`
}

// Binary is an archive, or a program, for one platform.
type Binary struct {
	Archive string            `json:"archive"`
	SHA256  string            `json:"sha256"`
	Cmd     string            `json:"cmd"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// Package is a package of npm or of PyPI.
type Package struct {
	Package string            `json:"package"`
	Cmd     string            `json:"cmd"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

const (
	maxRegistry = 16 << 20 // bytes
	maxAgents   = 5000
	maxText     = 500 // of a description
)

// The kinds of a Choice.
const (
	Archive = "binary" // an archive, or a program
	NPM     = "npx"    // a package of npm
	PyPI    = "uvx"    // a package of PyPI
)

// Choice is the way to install an agent that suits this system.
type Choice struct {
	Kind string
	// Of an Archive.
	URL, SHA256 string // SHA256 is empty if the registry has none
	// Of a package.
	Package, Version string
	// Program is the path of the program in an archive, with /, or its name among those of a package;
	// empty: there is one only.
	Program string
	Args    []string
	Env     map[string]string
}

// shapes are the patterns of valid names and versions. They are compiled at their first use, because most
// commands need none.
type shapes struct {
	agentID, version, npmName, npmExact, pypiName, pypiExact, variable, program *regexp.Regexp
}

var shape = sync.OnceValue(func() shapes {
	return shapes{
		agentID:   regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`),
		version:   regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$`),
		npmName:   regexp.MustCompile(`^(@[a-z0-9~][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*$`),
		npmExact:  regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`),
		pypiName:  regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`),
		pypiExact: regexp.MustCompile(`^([0-9]+!)?[0-9]+(\.[0-9]+)*[0-9A-Za-z.+-]*$`),
		variable:  regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`),
		program:   regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`),
	}
})

// Parse reads the text of a registry.
func Parse(data []byte) (*Registry, error) {
	var top struct {
		Agents []json.RawMessage `json:"agents"`
	}
	if len(data) > maxRegistry {
		return nil, fmt.Errorf("it is larger than %d MiB", maxRegistry>>20)
	}
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, fmt.Errorf("it is not a registry of agents: %w", err)
	}
	if top.Agents == nil {
		return nil, errors.New("it is not a registry of agents: it has no list agents")
	}
	r := &Registry{}
	seen := map[string]bool{}
	for i, raw := range top.Agents[:min(len(top.Agents), maxAgents)] {
		var a Agent
		err := json.Unmarshal(raw, &a)
		if err == nil {
			err = a.check()
		}
		if err == nil && seen[a.ID] {
			err = errors.New("it is there twice")
		}
		if err != nil {
			r.Dropped = append(r.Dropped, fmt.Sprintf("agent %s: %v", cmp.Or(display.Line(a.ID, 64), fmt.Sprint(i+1)), err))
			continue
		}
		seen[a.ID] = true
		r.Agents = append(r.Agents, a)
	}
	return r, nil
}

// check returns why an agent cannot be used, whatever the system is.
func (a *Agent) check() error {
	switch {
	case !shape().agentID.MatchString(a.ID):
		return errors.New("its id is not made of small letters, digits and -")
	case !shape().version.MatchString(a.Version):
		return fmt.Errorf("its version %q is none", display.Line(a.Version, 64))
	case len(a.Distribution.Binary) == 0 && a.Distribution.NPX == nil && a.Distribution.UVX == nil:
		return errors.New("its distribution has neither binary nor npx nor uvx")
	}
	a.Name = display.Line(cmp.Or(a.Name, a.ID), 100)
	a.Description = display.Line(a.Description, maxText)
	a.License = display.Line(a.License, 100)
	return nil
}

// Find returns an agent by its id.
func (r *Registry) Find(id string) (Agent, bool) {
	i := slices.IndexFunc(r.Agents, func(a Agent) bool { return a.ID == id })
	if i < 0 {
		return Agent{}, false
	}
	return r.Agents[i], true
}

// Platform returns the name that a registry has for a system.
func Platform(system, processor string) string {
	return system + "-" + cmp.Or(map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[processor], processor)
}

// Choose returns the way to install an agent on this system.
func (a Agent) Choose() (Choice, error) { return a.ChooseFor(Platform(runtime.GOOS, runtime.GOARCH)) }

// ChooseFor returns the way to install an agent on a platform: an archive for it, else a package of npm,
// else one of PyPI.
func (a Agent) ChooseFor(platform string) (c Choice, err error) {
	d := a.Distribution
	binary, there := d.Binary[platform]
	switch {
	case there:
		c, err = binary.choice(strings.HasPrefix(platform, "windows"))
	case d.NPX != nil:
		c, err = d.NPX.choice(NPM, "@", shape().npmName, shape().npmExact, a.Version)
	case d.UVX != nil:
		c, err = d.UVX.choice(PyPI, "==", shape().pypiName, shape().pypiExact, a.Version)
	default:
		have := slices.Sorted(maps.Keys(d.Binary))
		return c, fmt.Errorf("agent %s has nothing for %s; there is %s", a.ID, platform, display.Line(strings.Join(have, ", "), 300))
	}
	for name := range c.Env {
		if err == nil && !shape().variable.MatchString(name) {
			err = fmt.Errorf("%q is no name of a variable", display.Line(name, 60))
		}
	}
	if err != nil {
		return Choice{}, fmt.Errorf("agent %s: %w", a.ID, err)
	}
	return c, nil
}

func (b Binary) choice(windows bool) (c Choice, err error) {
	if _, err := download.Check(b.Archive); err != nil {
		return c, err
	}
	sum, err := hex.DecodeString(b.SHA256)
	if err != nil || len(sum) != 0 && len(sum) != 32 {
		return c, fmt.Errorf("sha256 %q is none", display.Line(b.SHA256, 80))
	}
	cmd := b.Cmd
	if windows {
		cmd = strings.ReplaceAll(cmd, `\`, "/")
	}
	program := path.Clean(strings.TrimPrefix(cmd, "./"))
	if cmd == "" || path.IsAbs(program) || program == "." || program == ".." || strings.HasPrefix(program, "../") || strings.ContainsAny(program, "\\:\x00") {
		return c, fmt.Errorf("cmd %q is no path in the archive", display.Line(b.Cmd, 100))
	}
	return Choice{Kind: Archive, URL: b.Archive, SHA256: strings.ToLower(b.SHA256), Program: program, Args: b.Args, Env: b.Env}, nil
}

// choice returns a package with one exact version. Without one, that of the agent counts.
func (p Package) choice(kind, separator string, name, exact *regexp.Regexp, version string) (c Choice, err error) {
	c = Choice{Kind: kind, Package: p.Package, Version: version, Program: p.Cmd, Args: p.Args, Env: p.Env}
	if i := strings.LastIndex(p.Package, separator); i > 0 {
		c.Package, c.Version = p.Package[:i], p.Package[i+len(separator):]
	}
	switch {
	case !name.MatchString(c.Package):
		return c, fmt.Errorf("%q is no name of a package", display.Line(p.Package, 100))
	case !exact.MatchString(c.Version):
		return c, fmt.Errorf("package %s has no exact version, but %q", display.Line(c.Package, 100), display.Line(c.Version, 64))
	case c.Program != "" && !shape().program.MatchString(c.Program):
		return c, fmt.Errorf("cmd %q is no name of a program", display.Line(c.Program, 100))
	}
	return c, nil
}
