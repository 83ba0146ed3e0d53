package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

// limited is the configuration of a service with limits, at a dollar for a thousand tokens.
func (s *service) limited(limits string) string {
	return strings.Replace(s.config, "{base_url:", "{models: {m: {price: {input: 1000, output: 1000}}}, base_url:", 1) + "limits: " + limits + "\n"
}

// run asks nobody: at a limit it ends with a code of its own and the reason.
func TestRunEndsAtALimitOfTheUser(t *testing.T) {
	for _, c := range []struct {
		limits   string
		unpriced bool
		code     int
		errs     string
		requests int
	}{
		{"{cost: {turn: 0.01}}", false, program.ExitLimit, "The turn ended: This turn has spent $0.00 of the $0.0100 of limits.cost.turn, and the next request takes at least $", 0},
		{"{cost: {session: 0.01}}", false, program.ExitLimit, "limits.cost.session", 0},
		{"{cost: {day: 0.01}}", false, program.ExitLimit, "raise limits.cost.day in ", 0},
		{"{tokens: {turn: 100}}", true, program.ExitLimit, "limits.tokens.turn", 0},
		{"{tokens: {turn: 100000, day: 1000000}}", true, program.ExitOK, "", 1},
		{"{cost: {turn: 1000, session: 1000, day: 1000}}", false, program.ExitOK, "", 1},
		{"{cost: {turn: 1000}}", true, program.ExitLimit, "The price of the model house/m is not known, so limits.cost cannot be kept.", 0},
		{"{cost: {turn: 1000}, unknown: allow}", true, program.ExitOK, "", 1},
		{"{unknown: ask}", true, program.ExitOK, "", 1},
	} {
		p, s := served(t, part{say: "Hello."})
		text := s.limited(c.limits)
		if c.unpriced {
			text = s.config + "limits: " + c.limits + "\n"
		}
		p.config(t, text)
		o := p.run(t, "", "run", "hello")
		if o.code != c.code || !strings.Contains(o.errs, c.errs) || len(s.asked()) != c.requests {
			t.Errorf("%s: %d requests, exit code %d\nstdout: %s\nstderr: %s", c.limits, len(s.asked()), o.code, o.out, o.errs)
		}
		if _, err := os.Stat(filepath.Join(p.data, "limits.json")); (err == nil) != (c.code == 0 && strings.Contains(c.limits, "day")) {
			t.Errorf("%s: the ledger: %v", c.limits, err)
		}
	}
}
