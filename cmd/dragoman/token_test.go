package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
)

// created makes a token by the command line.
func (p *place) created(t *testing.T, args ...string) string {
	t.Helper()
	o := p.run(t, "", append([]string{"token", "create"}, args...)...)
	if o.code != program.ExitOK || !strings.HasPrefix(o.out, "dragoman_") || strings.Count(o.out, "\n") != 1 {
		t.Fatalf("%v: %+v", args, o)
	}
	return strings.TrimSpace(o.out)
}

// A token is printed once, alone, and in no list.
func TestTokenCommands(t *testing.T) {
	p := newPlace(t)
	if o := p.run(t, "", "token", "list"); o.code != program.ExitOK || o.out != "" || !strings.Contains(o.errs, "There are no tokens") {
		t.Errorf("%+v", o)
	}
	phone := p.created(t, "phone", "--rights", "answer, watch", "--expires", "30d")
	laptop := p.created(t, "laptop")
	o := p.run(t, "", "token", "list")
	shape := regexp.MustCompile(`^NAME +ID +RIGHTS +CREATED +ENDS
phone +[a-z2-7]{8} +watch,answer +\d{4}-\d\d-\d\d +\d{4}-\d\d-\d\d \d\d:\d\d
laptop +[a-z2-7]{8} +watch,prompt +\d{4}-\d\d-\d\d +never
$`)
	if !shape.MatchString(o.out) || o.errs != "" {
		t.Errorf("%+v", o)
	}
	j := p.run(t, "", "token", "list", "--json")
	lines := strings.Split(strings.TrimSpace(j.out), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"rights":"watch,answer"`) || strings.Contains(lines[1], "expires") {
		t.Errorf("%+v", j)
	}
	stored, err := os.ReadFile(filepath.Join(p.data, "mcp-tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{phone, laptop} {
		for where, text := range map[string]string{"the list": o.out, "the list as JSON": j.out, "the file": string(stored)} {
			if strings.Contains(text, strings.TrimPrefix(secret, "dragoman_")) {
				t.Errorf("%s has the token: %s", where, text)
			}
		}
	}
	for args, want := range map[string]string{
		"create phone": `there is a token "phone" already`, "create a/b": "is no name for a token",
		"revoke nobody": `there is no token "nobody"`,
	} {
		if o := p.run(t, "", append([]string{"token"}, strings.Fields(args)...)...); o.code != program.ExitFailed || !strings.Contains(o.errs, want) || o.out != "" {
			t.Errorf("%s: %+v", args, o)
		}
	}
	for args, want := range map[string]string{
		"create": "NAME is missing", "create a --rights all": `there is no right "all"`, "create a --rights=": "there is no right",
		"create a --expires 30": "not a time", "create a --expires -1d": "not a time", "create a --expires 0d": "not a time",
		"create a --expires 99999999999d": "not a time", "create a --expires 1ns": "not a time", "revoke": "NAME|ID is missing", "lost": "unknown command",
	} {
		if o := p.run(t, "", append([]string{"token"}, strings.Fields(args)...)...); o.code != program.ExitUsage || !strings.Contains(o.errs, want) {
			t.Errorf("%s: %+v", args, o)
		}
	}
	if o := p.run(t, "", "token", "revoke", "Phone"); o.code != program.ExitOK || !strings.Contains(o.errs, `"phone"`) {
		t.Errorf("%+v", o)
	}
	if o := p.run(t, "", "token", "list"); strings.Contains(o.out, "phone") || !strings.Contains(o.out, "laptop") {
		t.Errorf("%+v", o)
	}
}

func TestExpiryOfTokens(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{"1d": 24 * time.Hour, "30d": 720 * time.Hour, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute, "36500d": 36500 * 24 * time.Hour} {
		if got, err := expiry(text, now); err != nil || !got.Equal(now.Add(want)) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if got, err := expiry("", now); err != nil || !got.IsZero() {
		t.Errorf("%v, %v", got, err)
	}
}
