package setup

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"

	"go.uber.org/zap"

	"dragoman/bridge/upstream"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/display"
)

const (
	// maxWiderSettings and maxWiderBytes limit the settings that a person is asked to judge
	// at once. With more, the user is not asked.
	maxWiderSettings = 40
	maxWiderBytes    = 4000
)

// pendingOptions holds an editor's settings that allow more, until the user has agreed to them.
type pendingOptions struct {
	configs.Escalation
	whole *configs.Config // the options with them
	raw   json.RawMessage // the options as received
	asked bool            // the user is being asked, or has refused
	told  bool            // the user knows that nobody can be asked
}

// Configure sets the settings that an editor sends when it connects as the lowest layer. Settings
// that only restrict apply at once, and so do those with the user's lasting consent; the others
// wait for consent. The error names invalid settings and unknown ones, which are left out.
func (c *Client) Configure(raw json.RawMessage) error {
	layer, unknown, err := configs.ParseEditor(raw)
	if text := configs.UnknownKeys(unknown); text != "" {
		c.process.log.Logger.Warn("some of " + configs.EditorSource + " " + text)
		err = errors.Join(err, errors.New(text))
	}
	narrow, more := layer.Narrowed()
	var waits *pendingOptions
	if more.Sum != "" && !c.agreements().Has(more.Sum) {
		layer, waits = narrow, &pendingOptions{Escalation: more, whole: layer}
	}
	if waits != nil {
		waits.raw = raw
	}
	c.mu.Lock()
	c.wider, c.options = waits, raw
	over := c.layLocked(func(l *overlay) {
		l.editor = layer
		l.setText(raw, waits != nil)
	})
	c.mu.Unlock()
	over.end()
	return err
}

// agreements returns the agreements of the client's principal.
func (c *Client) agreements() upstream.Agreements {
	return upstream.Agreements{Path: c.process.store.AgreedFile()}.Of(c.principal, core.Local)
}

// Before implements core.Profiles: as soon as a person can be asked it asks the user, once, about
// the editor's settings that allow more. Until then, and without a yes, only those that restrict
// apply.
func (c *Client) Before(ctx context.Context, m core.Meta, h core.Host) {
	c.mu.Lock()
	w := c.wider
	if w == nil || w.asked || m.Parent != "" {
		c.mu.Unlock()
		return
	}
	w.asked = true
	c.mu.Unlock()
	var r core.Reply
	var err error
	if !w.tooMuch() {
		r, err = h.Ask(
			ctx,
			core.Ask{
				Kind:    core.AskConsent,
				Text:    w.question(),
				Options: consentOptions(c.process.store.AgreedFile() != ""),
			},
		)
	}
	answered := err == nil && (r.Outcome == core.OutcomeAnswered || r.Outcome == core.OutcomeDeclined)
	yes := answered && (r.Option == "use" || r.Option == "always")
	if yes && r.Option == "always" {
		if err := c.agreements().Add(w.Sum, configs.EditorSource); err != nil {
			c.process.log.Logger.Warn("the consent to "+configs.EditorSource+" could not be kept", zap.Error(err))
		}
	}
	var over *edition
	c.mu.Lock()
	tell := !answered && !w.told
	w.asked, w.told = answered, w.told || tell
	if yes && c.wider == w {
		c.wider = nil
		over = c.layLocked(func(l *overlay) {
			l.editor = w.whole
			l.setText(w.raw, false)
		})
	}
	c.mu.Unlock()
	over.end()
	if tell && ctx.Err() == nil {
		_ = h.Publish(ctx, core.Notice{Severity: core.Warning, Text: w.notice()}) // a failing log reports it itself
	}
}

// consentOptions returns the options of the question; kept: a lasting consent can be kept.
func consentOptions(kept bool) []core.Option {
	list := []core.Option{{ID: "use", Label: "Use them", Decision: core.AllowOnce}}
	if kept {
		list = append(
			list,
			core.Option{
				ID:       "always",
				Label:    "Use them, also in the future",
				Decision: core.AllowSession,
				Changes:  true,
			},
		)
	}
	return append(list, core.Option{ID: "no", Label: "Do not use them", Decision: core.RejectOnce})
}

func (w *pendingOptions) question() string {
	return "The editor's settings send data elsewhere, or allow more, than your own configuration does. They may come from the folder that is open:\n\n" +
		w.list() + "\n\nUse them?"
}

// tooMuch reports whether the settings are too long for a question.
func (w *pendingOptions) tooMuch() bool {
	return len(w.Settings) > maxWiderSettings || len(w.list()) > maxWiderBytes
}

func (w *pendingOptions) notice() string {
	if w.tooMuch() {
		return "The editor's options send data elsewhere or allow more in " + display.Counted(len(w.Settings), "setting") + ", which is too much to ask about. They are not used. If you want them, put them in your own configuration file."
	}
	return "The editor's options have settings that send data elsewhere or allow more. Nobody could be asked, so they are not used. If you want them, put them in your own configuration file:\n\n" + w.list()
}

// list returns all of the settings, uncut: users can only agree to settings that they see.
func (w *pendingOptions) list() string {
	var lines []string
	for _, s := range w.Settings {
		lines = append(lines, "- "+display.Line(s, math.MaxInt))
	}
	return strings.Join(lines, "\n")
}
