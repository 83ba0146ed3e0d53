package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

var errRefused = errors.New("you did not agree to starting it")

// confirm asks the user once whether to start a server that is not in the user's own
// configuration.
func (u *upstream) confirm(ctx context.Context, e Endpoint) error {
	if !u.server.Confirm {
		return nil
	}
	what := display.Word(e.URL)
	text := "The client of this session wants to use the MCP server %s at %s. Connect to it?"
	if !e.Remote() {
		what = e.program()
		text = "The client of this session wants to start the MCP server %s, which is the program: %s. Start it?"
	}
	key, of := agreementOf(e), u.host.Meta().Principal
	kept := consentKey{of, key}
	u.box.mu.Lock()
	agreed, known := u.box.confirmed[kept]
	u.box.mu.Unlock()
	if !known {
		agreed, known = true, u.box.agreements(of).Has(key)
	}
	if !known {
		u.waits("waits for your answer")
		r, err := u.host.Ask(ctx, core.Ask{
			Kind:    core.AskConsent,
			Text:    fmt.Sprintf(text, display.Word(u.server.Name), what),
			Options: u.box.mayStart(),
		})
		if err != nil {
			return err
		}
		if r.Outcome != core.OutcomeAnswered && r.Outcome != core.OutcomeDeclined {
			return errors.New("it has not been approved yet")
		}
		always := r.Outcome == core.OutcomeAnswered && r.Option == "always"
		agreed = always || r.Outcome == core.OutcomeAnswered && r.Option == "start"
		if always {
			if err := u.box.agreements(of).Add(key, u.server.Name); err != nil {
				u.box.opts.Log(u.server.Name, "warn", "that it may always be started is not kept: "+err.Error())
			}
		}
		u.box.mu.Lock()
		u.box.confirmed[kept] = agreed
		u.box.mu.Unlock()
	}
	if !agreed {
		return errRefused
	}
	return nil
}

// agreements returns the agreements of a principal that outlive the process.
func (b *Box) agreements(p core.Principal) Agreements {
	return Agreements{Path: b.opts.AgreedFile}.Of(p, b.opts.Owner)
}

// mayStart returns the options for the question whether to start a server.
func (b *Box) mayStart() []core.Option {
	list := []core.Option{{ID: "start", Label: "Start it", Decision: core.AllowOnce}}
	if b.opts.AgreedFile != "" {
		list = append(
			list,
			core.Option{
				ID:       "always",
				Label:    "Start it, also in the future",
				Decision: core.AllowSession,
			},
		)
	}
	return append(list, core.Option{ID: "no", Label: "Do not start it", Decision: core.RejectOnce})
}

// program describes a program so that the user can judge it: each argument separately, the
// folder, and the names of the variables, with the values of those that load code.
func (e Endpoint) program() string {
	words := []string{display.Word(e.Command)}
	for _, a := range e.Args {
		words = append(words, display.Word(a))
	}
	text := strings.Join(words, " ") + " in " + display.Word(e.Dir)
	var set []string
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		if loadsCode(name) {
			set = append(set, display.Word(name)+"="+display.Word(e.Env[name]))
		} else {
			set = append(set, display.Word(name))
		}
	}
	if len(set) > 0 {
		text += " with " + strings.Join(set, ", ") + " in its environment"
	}
	return text
}

// loadsCode reports whether a variable can make a program run foreign code.
func loadsCode(name string) bool {
	name = strings.ToUpper(name)
	for _, begin := range []string{"LD_", "DYLD_", "NODE_OPTIONS", "NODE_PATH", "PYTHON", "PERL5", "RUBY", "JAVA_TOOL", "_JAVA", "BASH_ENV", "ENV", "PATH", "GIT_", "NPM_CONFIG"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
}
