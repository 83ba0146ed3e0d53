package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/cmd/internal/agents"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/display"
)

// PrintAgents tries an external agent, or all of them if the name is empty, and prints what keeps
// it from working. It returns program.ErrReported if there is a problem.
func (d *Doctor) PrintAgents(ctx context.Context, name string) error {
	c, err := d.env.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	names := agents.Names(c)
	switch {
	case name != "":
		if err := agents.Check(c, name); err != nil {
			return err
		}
		names = []string{name}
	case len(names) == 0:
		_, err := fmt.Fprintf(d.env.Out, "There are no external agents. \"dragoman agents add\" lists some and adds one; so does an entry in %s, such as\n  agents: {claude: {acp: {command: claude-agent-acp}}}\n", d.env.ConfigFile())
		return err
	}
	ctx, stop := program.UntilSignal(ctx, true)
	defer stop()
	r := &report{}
	for _, name := range names {
		r.sections = append(r.sections, d.examineAgent(ctx, c, name))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.print(d.env.Out, terminal.Colours(d.env.Out, d.env.Lookup))
	if r.wrong() > 0 {
		return program.ErrReported
	}
	return nil
}

// examineAgent tries an external agent.
func (d *Doctor) examineAgent(ctx context.Context, c *configs.Config, name string) section {
	s := section{title: "Agent " + name}
	a := c.Agents[name]
	_, setting := a.Program()
	x := agents.New(d.env, d.secrets, c, name)
	path, err := x.Find(ctx)
	if err != nil {
		s.add(wrong, "%v", err).hint = x.Missing(err)
		return s
	}
	s.add(fine, "%s", path)
	if what, problem := x.Installed(ctx); problem != "" {
		s.add(wrong, "%s", problem).hint = "dragoman agents approve " + name + " has it used as it is; dragoman agents update " + name + " installs it again"
	} else if what != "" {
		s.add(fine, "%s", what)
	}
	for _, f := range x.Interpreter(ctx, path) {
		s.add(plain, "%s", f)
	}
	if problem, there := x.NotOnDesktop(path); problem != "" {
		s.add(look, "%s", problem).hint = "write into agents." + name + "." + setting + ".env: PATH: " + there
	}
	if given := x.Credentials(); len(given) > 0 {
		s.add(plain, "it gets from the environment: %s", strings.Join(given, ", ")).hint = "programs started from a desktop do not see the shell's variables; agents." + name + "." + setting + ".env takes them for everybody"
	}
	if how, advice := x.Sandbox(); how != "" {
		s.add(plain, "%s", how).hint = advice
	}
	t, err := x.Try(ctx)
	var signIn *core.SignInError
	if t.Hello > 0 {
		s.add(fine, "%s answered in %v", strings.TrimSpace(display.Line(t.Name+" "+t.Version, 100)), rounded(t.Hello))
	}
	switch {
	case errors.As(err, &signIn):
		s.add(wrong, "it wants a login: %s", display.Line(signIn.Text, 200)).hint = "dragoman agents login " + name
	case err != nil:
		s.add(wrong, "%s", display.Printable(err.Error())).hint = x.Hint(path, err)
	default:
		s.add(fine, "a session was opened in %v", rounded(t.Session))
	}
	if t.Hello > 0 {
		examineTrial(&s, a, t, err)
	}
	return s
}

// examineTrial describes what an agent can do. err is how the trial ended; it has what the agent
// said.
func examineTrial(s *section, a configs.Agent, t agents.Trial, err error) {
	if t.State != "" {
		s.add(plain, "sign-in: %s", display.Line(t.State, 60))
	}
	if len(t.SignIns) > 0 {
		s.add(plain, "ways to sign in: %s", display.Line(strings.Join(t.SignIns, ", "), 300))
	}
	if len(t.Caps) > 0 {
		s.add(plain, "can: %s", strings.Join(t.Caps, ", "))
	}
	if !t.Reloads {
		s.add(plain, "it cannot continue a session after its program has ended; it then gets a summary of what was said")
	}
	for _, o := range t.Choices {
		s.add(plain, "option %s: %s", display.Line(o.ID, 60), display.Line(valuesOf(o), 200))
	}
	for _, wrongly := range agents.WrongOptions(a, t) {
		s.add(look, "%s", wrongly)
	}
	if t.Said != "" && err == nil {
		s.add(plain, "it said: %s", t.Said)
	}
}

// valuesOf lists the values of an option, the present one first.
func valuesOf(o core.Choice) string {
	if o.Boolean {
		return o.Value + " (true or false)"
	}
	list := []string{o.Value}
	for _, v := range o.Values {
		if v.ID != o.Value {
			list = append(list, v.ID)
		}
	}
	return strings.Join(list, ", ")
}

// mentionAgents lists the external agents without starting them.
func (d *Doctor) mentionAgents(ctx context.Context, s *section, c *configs.Config) {
	names := agents.Names(c)
	if len(names) == 0 {
		return
	}
	s.add(plain, "%s: %s", display.Counted(len(names), "external agent"), strings.Join(names, ", ")).hint = "\"dragoman agents doctor\" tries them"
	for _, name := range names {
		x := agents.New(d.env, d.secrets, c, name)
		if _, err := x.Find(ctx); err != nil {
			s.add(look, "agent %s: %v", name, err).hint = x.Missing(err)
		}
	}
}

// rounded returns a time as people read it.
func rounded(d time.Duration) time.Duration { return max(d.Round(time.Millisecond), time.Millisecond) }
