package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"dragoman/cmd/internal/secrets"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/guide"
)

// errNoGateway keeps commands that need sessions from a profile without any.
var errNoGateway = errors.New("there are no sessions here")

// command carries out a prompt that begins with a slash: a text of the workspace's
// or the user's takes its place, it is answered from what is known here, or
// something is done. What is no command's name is text, such as a path; a name that
// is nearly one is said to be that. In a session that another agent was handed as a
// task nothing is a command: there it is a model that writes the prompts.
func (p *profiles) command(ctx context.Context, t *core.Turn, text string) (core.CommandResult, bool, error) {
	m := t.Meta()
	have := p.guides.of(ctx, m.Roots)
	name, args := commandLine(text)
	if have == nil || name == "" || m.Parent != "" {
		return core.CommandResult{}, false, nil
	}
	c, ok := have.Command(name)
	if box := p.servers.current(); !ok && box != nil {
		if prompt, ok, err := box.Expand(ctx, m, name, args); ok {
			return core.CommandResult{Prompt: prompt}, true, err
		}
	}
	if !ok {
		answer := nearCommand(name, have)
		return core.CommandResult{Answer: answer}, answer != "", nil
	}
	switch c.Does {
	case guide.Prompts:
		prompt, err := have.Expand(name, args)
		return core.CommandResult{Prompt: prompt}, true, err
	case guide.Shows:
		answer, err := p.show(ctx, t, have, c.Name)
		return core.CommandResult{Answer: answer}, true, err
	case guide.Acts:
	}
	is, err := p.act(ctx, t, c.Name, args)
	return is, true, err
}

// expand is what a command that stands for a text comes to.
func (p *profiles) expand(ctx context.Context, roots []string, name, args string) (text string, ok bool, err error) {
	have := p.guides.of(ctx, roots)
	if have == nil {
		return "", false, nil
	}
	if c, ok := have.Command(name); !ok || c.Does != guide.Prompts {
		if box := p.servers.current(); !ok && box != nil {
			return box.Expand(ctx, core.Meta{Roots: roots}, name, args)
		}
		return "", false, nil
	}
	text, err = have.Expand(name, args)
	return text, true, err
}

// commandLine takes a command's name and its arguments apart.
func commandLine(text string) (name, args string) {
	name = strings.TrimPrefix(text, "/")
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name, args = name[:i], strings.TrimSpace(name[i:])
	}
	return name, args
}

// nearCommand says which command was meant; "" if none was.
func nearCommand(name string, have *guide.Guide) string {
	if strings.ContainsAny(name, `/\.`) {
		return "" // a path
	}
	var names []string
	for _, c := range have.Commands() {
		names = append(names, c.Name)
	}
	meant := configs.Suggest(name, names)
	if meant == "" {
		return ""
	}
	return fmt.Sprintf("There is no command /%s; did you mean /%s?\n\nNothing was sent to the model. To say it as text, put a word in front of it.\n", oneLine(name, 60), meant)
}

// show answers a command that only shows something.
func (p *profiles) show(ctx context.Context, t *core.Turn, have *guide.Guide, name string) (string, error) {
	made, err := p.load()
	if err != nil {
		return "", err
	}
	state := guide.State{Session: t.State(), Agent: t.Settings().Agent, Config: string(configs.Marshal(made.config))}
	if made.config.Source != "" {
		state.ConfigFiles = []string{made.config.Source}
	}
	if model, err := made.Model(ctx, t.Settings().Model); err == nil {
		state.Model = model.Info()
	}
	return have.Show(name, state)
}

// act does what a command asks for.
func (p *profiles) act(ctx context.Context, t *core.Turn, name, args string) (core.CommandResult, error) {
	said := func(answer string, err error) (core.CommandResult, error) {
		return core.CommandResult{Answer: answer}, err
	}
	switch name {
	case "model":
		return said(p.chooseModel(ctx, t, args))
	case "compact":
		return core.CommandResult{Compact: true, Focus: args}, nil
	case "fork":
		return said(p.fork(ctx, t))
	case "resume":
		return said(p.resume(ctx, t, args))
	case "export":
		return said(p.export(ctx, t, args))
	case "doctor":
		return said(p.doctorText(ctx, t), nil)
	case "login":
		return said(p.login(ctx, t, args))
	}
	return core.CommandResult{}, fmt.Errorf("/%s cannot be done here", name)
}

// chooseModel lists the models, or sets the session's.
func (p *profiles) chooseModel(ctx context.Context, t *core.Turn, want string) (string, error) {
	made, err := p.load()
	if err != nil {
		return "", err
	}
	set := t.State().Settings
	if want == "" {
		return modelsText(made, set), nil
	}
	id, unsure, wrong := made.findModel(want)
	if wrong != "" {
		return wrong + "\n", nil
	}
	if id != configs.OfflineProvider+"/"+configs.OfflineModel {
		provider, _, _ := strings.Cut(id, "/")
		if err := made.config.CheckKey(provider, p.app.Lookup, p.logins); err != nil {
			return "The model was not changed: " + keyProblem(err) + "\n", nil
		}
	}
	set.Model = id
	if model, err := made.Model(ctx, id); err != nil {
		return "The model was not changed: " + err.Error() + "\n", nil
	} else if !slices.Contains(model.Info().Efforts, set.Effort) {
		set.Effort = ""
	}
	if err := t.Set(ctx, set); err != nil {
		return "", err
	}
	text := "From now on this session uses `" + id + "`."
	if unsure {
		text += " It is not among the models that are known here; whether there is one, its provider will say."
	}
	return text + "\n", nil
}

// keyProblem is why there is no key, without the place in the configuration, which
// need not name the provider.
func keyProblem(err error) string {
	var all *configs.Error
	if errors.As(err, &all) {
		return all.Problems[0].Message + "."
	}
	return err.Error()
}

// findModel finds the model that a person named: by its id, or by the part of it
// behind the provider. unsure says that nobody here has heard of it.
func (p *profile) findModel(want string) (id string, unsure bool, wrong string) {
	var ids, named []string
	for _, i := range p.Models {
		ids = append(ids, i.ID)
		if _, short, _ := strings.Cut(i.ID, "/"); strings.EqualFold(i.ID, want) {
			return i.ID, false, ""
		} else if strings.EqualFold(short, want) {
			named = append(named, i.ID)
		}
	}
	if len(named) == 1 {
		return named[0], false, ""
	}
	if len(named) > 1 {
		return "", false, "Several providers have it: " + strings.Join(named, ", ") + "."
	}
	there := fmt.Sprintf("There is no model `%s`", oneLine(want, 100))
	if s := configs.Suggest(want, ids); s != "" {
		return "", false, there + "; did you mean `" + s + "`?"
	}
	for _, id := range ids { // the name alone, mistyped
		if _, short, _ := strings.Cut(id, "/"); configs.Suggest(want, []string{short}) != "" {
			return "", false, there + "; did you mean `" + id + "`?"
		}
	}
	if _, err := p.config.FindModel(want); err != nil {
		return "", false, there + ": " + strings.TrimPrefix(err.Error(), "model ") + "\n\n/model lists those that are known."
	}
	return want, true, ""
}

// modelsText lists the models.
func modelsText(p *profile, set core.Settings) string {
	now := set.Model
	if now == "" {
		now = p.DefaultModel
	}
	var b strings.Builder
	b.WriteString("**Models**\n\n")
	listed := false
	for _, i := range p.Models {
		b.WriteString("- `" + i.ID + "`")
		if i.ID == now {
			listed = true
			b.WriteString(" (this session's)")
		}
		if i.ID == p.DefaultModel {
			b.WriteString(" (the default)")
		}
		b.WriteString("\n")
	}
	if !listed {
		b.WriteString("- `" + oneLine(now, 100) + "` (this session's)\n")
	}
	b.WriteString("\n/model PROVIDER/MODEL chooses one; others of a provider that has a key can be named as well.\n")
	return b.String()
}

// session is the one that a turn runs in.
func (p *profiles) session(ctx context.Context, t *core.Turn) (*core.Session, error) {
	if p.gateway == nil {
		return nil, errNoGateway
	}
	return p.gateway.Open(ctx, t.Meta().Principal, t.Meta().ID)
}

// fork makes a copy of the session as it was before the command, and moves the
// user there.
func (p *profiles) fork(ctx context.Context, t *core.Turn) (string, error) {
	s, err := p.session(ctx, t)
	if err != nil {
		return "", err
	}
	att := s.Attach(core.Client{Name: "/fork", Principal: t.Meta().Principal, Role: core.Observe})
	defer att.Close()
	at, err := att.Find(ctx, t.Message())
	if err != nil {
		return "", err
	}
	st := t.State()
	if st.Messages <= 1 {
		return "There is nothing to copy yet.\n", nil
	}
	copied, err := p.gateway.Fork(ctx, s, at, "")
	if err != nil {
		return "", err
	}
	id, title := copied.Meta().ID, forkTitle(st.Title, copied.Meta().Forks)
	there := copied.Attach(core.Client{Name: t.Origin().Client, Principal: t.Meta().Principal})
	defer there.Close()
	if err := errors.Join(there.Rename(ctx, title), t.Emit(ctx, core.Moved{To: id, Title: title})); err != nil {
		return "", err
	}
	return "A copy of this session, as it was before this command, is `" + string(id) + "`. " + p.goOn(id) + "\n", nil
}

// forkTitle is what a copy is called: as its session, and that it is the first,
// second … copy on its way.
func forkTitle(title string, forks int) string {
	suffix := func(n int) string {
		if n == 1 {
			return " (fork)"
		}
		return fmt.Sprintf(" (fork %d)", n)
	}
	if forks > 1 {
		title = strings.TrimSuffix(title, suffix(forks-1))
	}
	return strings.TrimSpace(title + suffix(forks))
}

// goOn says how to go on in another session where the client does not go there.
func (p *profiles) goOn(id core.SessionID) string {
	if !p.people {
		return "Prompt it by that id."
	}
	return "If your editor has not gone there, open it from its list of sessions; in a terminal: dragoman chat --session " + string(id)
}

const maxResumes = 10 // sessions that are listed

// resume lists the sessions of these folders, or moves the user to one.
func (p *profiles) resume(ctx context.Context, t *core.Turn, want string) (string, error) {
	if p.gateway == nil {
		return "", errNoGateway
	}
	var list, found []core.Summary
	for sum, err := range p.gateway.List(ctx, t.Meta().Principal) {
		if err != nil || sum.ID == t.Meta().ID || sum.Parent != "" || sum.Messages == 0 {
			continue // one that cannot be read is not one to go on with
		}
		if !p.people && !withinFolders(sum, t.Meta()) {
			continue // another agent may see only what lies within its folders
		}
		if want != "" && strings.HasPrefix(string(sum.ID), want) {
			found = append(found, sum)
		}
		if sharesFolder(sum, t.Meta()) {
			list = append(list, sum)
		}
	}
	switch {
	case want == "latest":
		found = list[:min(1, len(list))]
	case want == "":
		return resumesText(list), nil
	}
	switch len(found) {
	case 0:
		return "There is no session `" + oneLine(want, 60) + "` to go on with.\n\n" + resumesText(list), nil
	case 1:
	default:
		exact := slices.IndexFunc(found, func(s core.Summary) bool { return string(s.ID) == want })
		if exact < 0 {
			return fmt.Sprintf("%d sessions begin with `%s`; write more of the id.\n", len(found), oneLine(want, 60)), nil
		}
		found = found[exact : exact+1]
	}
	to := found[0]
	if err := t.Emit(ctx, core.Moved{To: to.ID, Title: to.Title}); err != nil {
		return "", err
	}
	return "The session to go on with is `" + string(to.ID) + "` (" + cell(to.Title) + "). " + p.goOn(to.ID) + "\n", nil
}

// sharesFolder reports whether a session works in one of the folders of another.
func sharesFolder(s core.Summary, m core.Meta) bool {
	mine := append([]string{m.Cwd}, m.Roots...)
	return slices.ContainsFunc(append([]string{s.Cwd}, s.Roots...), func(dir string) bool { return dir != "" && slices.Contains(mine, dir) })
}

// withinFolders reports whether a session works in no other folders than another does.
func withinFolders(s core.Summary, m core.Meta) bool {
	mine := append([]string{m.Cwd}, m.Roots...)
	return !slices.ContainsFunc(append([]string{s.Cwd}, s.Roots...), func(dir string) bool { return !slices.Contains(mine, dir) })
}

func resumesText(list []core.Summary) string {
	if len(list) == 0 {
		return "There are no earlier sessions in these folders.\n"
	}
	var b strings.Builder
	b.WriteString("**Earlier sessions in these folders**\n\n")
	for _, s := range list[:min(len(list), maxResumes)] {
		fmt.Fprintf(&b, "- `%s` %s, %s, %d messages\n", s.ID, cell(s.Title), display.Ago(s.Updated, time.Now()), s.Messages)
	}
	if more := len(list) - maxResumes; more > 0 {
		fmt.Fprintf(&b, "\nand %d older ones.\n", more)
	}
	b.WriteString("\n/resume ID goes on with one (the beginning of its id is enough), /resume latest with the first.\n")
	return b.String()
}

// cell is a title in a line of Markdown.
func cell(title string) string {
	if title = oneLine(title, 60); title == "" {
		return "without a title"
	}
	return "“" + strings.NewReplacer("`", "'", "*", "·", "[", "(", "]", ")").Replace(title) + "”"
}

// login asks for a provider's key, or says where it can be given.
func (p *profiles) login(ctx context.Context, t *core.Turn, args string) (string, error) {
	acc := p.accounts()
	words := strings.Fields(args)
	switch {
	case len(words) == 0:
		return accountsText(acc.List(ctx)), nil
	case len(words) > 1:
		return "Write only the provider's name behind /login. If what follows was a key, it stands in this session's log now: revoke it and make another one.\n", nil
	}
	is, err := acc.Find(words[0])
	if err != nil {
		return "The key was not asked for: " + err.Error() + "\n", nil
	}
	step, err := acc.Login(ctx, is.Provider, "", nil)
	if err != nil {
		return err.Error() + "\n", nil
	}
	elsewhere := "Nobody can be asked for a key here. Run \"dragoman login " + is.Provider + "\" in a terminal"
	if is.EnvVar != "" {
		elsewhere += ", or set " + is.EnvVar + " where dragoman is started"
	}
	if !p.people {
		return elsewhere + ".\n", nil // a program has no key to give
	}
	r, err := t.Ask(ctx, core.Ask{Text: step.Message, Freeform: true, Secret: true})
	switch {
	case err != nil:
		return "", err
	case r.Outcome == core.OutcomeAlone:
		return elsewhere + ".\n", nil
	case r.Outcome != core.OutcomeAnswered || strings.TrimSpace(r.Text) == "":
		return "No key was given; nothing was changed.\n", nil
	}
	if step, err = acc.Login(ctx, is.Provider, "", map[string]string{secrets.KeyField: r.Text}); err != nil {
		return "The key was not kept: " + err.Error() + "\n", nil
	}
	return step.Message + "\n", nil
}

// accountsText lists the providers and where their keys come from.
func accountsText(list []core.Account) string {
	var b strings.Builder
	b.WriteString("**Providers**\n\n")
	for _, a := range list {
		fmt.Fprintf(&b, "- `%s`: %s\n", a.Provider, sourceText(a))
	}
	b.WriteString("\n/login PROVIDER asks for its key.\n")
	return b.String()
}

// sourceText says where a provider's key comes from.
func sourceText(a core.Account) string {
	switch configs.KeySource(a.Source) {
	case configs.KeyConfigured:
		if !a.Configured {
			return "the configuration names a key that cannot be had"
		}
		return "the key comes from the configuration"
	case configs.KeyInEnv:
		return "the key comes from " + a.EnvVar
	case configs.KeyGiven:
		return "the key was given"
	}
	if a.Local || a.Configured {
		return "needs no key"
	}
	return "no key"
}

// doctorText is what the doctor finds, and what is wrong with the files for the
// agent.
func (p *profiles) doctorText(ctx context.Context, t *core.Turn) string {
	p.mu.Lock()
	editor := p.editor
	p.mu.Unlock()
	r := p.app.examine(ctx, editor)
	r.sections = append(r.sections, p.examineGuide(ctx, t.Meta().Roots))
	if fault := p.faultNow(); fault != "" {
		r.sections = append(r.sections, section{"This process", []finding{{wrong, "a configuration that was read earlier goes on; the newest one is not in use:\n" + fault, ""}}})
	}
	var b strings.Builder
	for _, s := range r.sections {
		b.WriteString("**" + s.title + "**\n\n")
		for _, f := range s.findings {
			b.WriteString("- " + string(f.mark) + " " + strings.ReplaceAll(printable(f.text), "\n", "\n  ") + "\n")
			if f.hint != "" {
				b.WriteString("  → " + printable(f.hint) + "\n")
			}
		}
		b.WriteString("\n")
	}
	return b.String() + r.verdict() + "\n"
}

// examineGuide looks at what files tell the agent.
func (p *profiles) examineGuide(ctx context.Context, roots []string) section {
	s := section{title: "Files for the agent"}
	have := p.guides.of(ctx, roots)
	if have == nil {
		s.add(look, "the workspace's folders cannot be read")
		return s
	}
	s.add(plain, "instructions: %d, rules: %d, skills: %d, agents: %d", len(have.Instructions()), len(have.Rules()), len(have.Skills()), len(have.Agents()))
	for _, w := range have.Warnings() {
		s.add(look, "%s", w)
	}
	if base, err := p.load(); err == nil {
		_, warnings := fileRoles(base.roles, have.Agents(), base.offers)
		for _, w := range warnings {
			s.add(look, "%s", w)
		}
	}
	return s
}
