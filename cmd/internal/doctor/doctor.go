package doctor

import (
	"context"
	"os"
	"os/exec"
	"runtime"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
)

// Doctor examines an environment. It changes nothing, and does not use the network.
type Doctor struct {
	env     *program.Environment
	secrets *secrets.Store
}

// New returns the doctor of an environment.
func New(env *program.Environment, kept *secrets.Store) *Doctor { return &Doctor{env, kept} }

// Print prints the report. It returns program.ErrReported if there is a problem.
func (d *Doctor) Print(ctx context.Context) error {
	r := d.examine(ctx, nil)
	r.print(d.env.Out, terminal.Colours(d.env.Out, d.env.Lookup))
	if r.wrong() > 0 {
		return program.ErrReported
	}
	return nil
}

// examine checks everything. editor has the settings of an editor; nil: none.
func (d *Doctor) examine(ctx context.Context, editor *configs.Config) *report {
	config, configErr := d.env.LoadConfig(editor)
	return &report{[]section{
		d.examineProgram(),
		d.examineConfig(ctx, config, configErr),
		d.examineModel(ctx, config, configErr),
		d.examineState(ctx, config),
		d.examineTools(ctx, config),
		d.examineEditors(),
	}}
}

func (d *Doctor) examineProgram() section {
	s := section{title: "Program"}
	self, err := os.Executable()
	if err != nil {
		s.add(wrong, "the program's own path is not known: %v", err)
	}
	s.add(fine, "dragoman %s, %s, %s/%s", d.env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	s.add(plain, "%s", self)
	if found, err := exec.LookPath("dragoman"); err != nil {
		s.add(plain, "not on PATH: give editors the path above")
	} else if !sameFile(found, self) {
		s.add(look, "PATH finds another one: %s", found).hint = "editors that are told only \"dragoman\" start that one"
	}
	return s
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
