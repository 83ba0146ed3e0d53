package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/fork"
)

// errNoGateway is the error of commands that need sessions in a profile without any.
var errNoGateway = errors.New("there are no sessions here")

// session returns the session of a turn.
func (c *Commands) session(ctx context.Context, t *core.Turn) (*core.Session, error) {
	g := c.Gateway()
	if g == nil {
		return nil, errNoGateway
	}
	return g.Open(ctx, t.Meta().Principal, t.Meta().ID)
}

// fork makes a copy of the session up to the command, and moves the user there.
func (c *Commands) fork(ctx context.Context, t *core.Turn) (string, error) {
	s, err := c.session(ctx, t)
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
	copied, err := fork.Session(ctx, c.Gateway(), att, at, "")
	if no := lacks(err); no != nil {
		return "/fork is not possible here: " + no.Error() + ".\n", nil
	}
	if err != nil {
		return "", err
	}
	id, title := copied.Meta().ID, fork.Title(st.Title, copied.Meta().Forks)
	there := copied.Attach(core.Client{Name: t.Origin().Client, Principal: t.Meta().Principal})
	defer there.Close()
	if err := errors.Join(there.Rename(ctx, title), t.Emit(ctx, core.Moved{To: id, Title: title})); err != nil {
		return "", err
	}
	return "A copy of this session, as it was before this command, is `" + string(id) + "`. " + goOn(c.People(), t.Origin().Client, id) + "\n", nil
}

// terminalClient begins the name of the client that is `dragoman chat`.
const terminalClient = "dragoman chat"

// goOn explains to a client how to continue in another session if it does not switch to it.
func goOn(people bool, client string, id core.SessionID) string {
	switch {
	case !people:
		return "Prompt it by that id."
	case strings.HasPrefix(client, terminalClient):
		return "Open it with: " + terminalClient + " --session " + string(id)
	}
	return "If your editor has not gone there, open it from its list of sessions."
}

const maxResumes = 10 // listed sessions

// resume lists the sessions of these folders, or moves the user to one.
func (c *Commands) resume(ctx context.Context, t *core.Turn, want string) (string, error) {
	g := c.Gateway()
	if g == nil {
		return "", errNoGateway
	}
	var list, found []core.Summary
	for sum, err := range g.List(ctx, t.Meta().Principal) {
		if err != nil || sum.ID == t.Meta().ID || sum.Parent != "" || sum.Messages == 0 {
			continue // a session that cannot be read cannot be continued
		}
		if !c.People() && !withinFolders(sum, t.Meta()) {
			continue // another agent may see only sessions within its folders
		}
		if want != "" && strings.HasPrefix(string(sum.ID), want) {
			found = append(found, sum)
		}
		if sharesFolder(sum, t.Meta()) && !sum.Archived {
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
		return "There is no session `" + display.Line(want, 60) + "` to continue.\n\n" + resumesText(list), nil
	case 1:
	default:
		exact := slices.IndexFunc(found, func(s core.Summary) bool { return string(s.ID) == want })
		if exact < 0 {
			return fmt.Sprintf("%d sessions begin with `%s`; write more of the id.\n",
				len(found), display.Line(want, 60)), nil
		}
		found = found[exact : exact+1]
	}
	to := found[0]
	if err := t.Emit(ctx, core.Moved{To: to.ID, Title: to.Title}); err != nil {
		return "", err
	}
	return "The session to continue is `" + string(to.ID) + "` (" + cell(to.Title) + "). " + goOn(c.People(), t.Origin().Client, to.ID) + "\n", nil
}

// sharesFolder reports whether a session and another one have a folder in common.
func sharesFolder(s core.Summary, m core.Meta) bool {
	mine := append([]string{m.Cwd}, m.Roots...)
	return slices.ContainsFunc(
		append([]string{s.Cwd}, s.Roots...),
		func(dir string) bool { return dir != "" && slices.Contains(mine, dir) },
	)
}

// withinFolders reports whether all folders of a session are folders of another one.
func withinFolders(s core.Summary, m core.Meta) bool {
	mine := append([]string{m.Cwd}, m.Roots...)
	return !slices.ContainsFunc(
		append([]string{s.Cwd}, s.Roots...),
		func(dir string) bool { return !slices.Contains(mine, dir) },
	)
}

func resumesText(list []core.Summary) string {
	if len(list) == 0 {
		return "There are no earlier sessions in these folders.\n"
	}
	var b strings.Builder
	b.WriteString("**Earlier sessions in these folders**\n\n")
	for _, s := range list[:min(len(list), maxResumes)] {
		fmt.Fprintf(&b, "- `%s` %s, %s, %d messages\n",
			s.ID, cell(s.Title), display.Ago(s.Updated, time.Now()), s.Messages)
	}
	if more := len(list) - maxResumes; more > 0 {
		fmt.Fprintf(&b, "\nand %d older ones.\n", more)
	}
	b.WriteString("\n/resume ID continues one (the beginning of its id is enough), /resume latest the first.\n")
	return b.String()
}

// cell returns a title for a line of Markdown.
func cell(title string) string {
	if title = display.Line(title, 60); title == "" {
		return "without a title"
	}
	return "“" + strings.NewReplacer("`", "'", "*", "·", "[", "(", "]", ")").Replace(title) + "”"
}
