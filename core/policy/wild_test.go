package policy

import (
	"strings"
	"testing"

	"dragoman/core"
)

// A line is asked about when its wildcards may match what a rule covers, trusted or
// not.
func TestWildcardsOfCommands(t *testing.T) {
	p := mustNew(t, Rule{Effect: core.Deny, Path: "**/.env"}, Rule{Effect: core.Deny, Path: "**/*.pem"}, Rule{Effect: core.MustAsk, Path: "secrets/**"})
	for _, c := range []struct {
		line string
		want core.Effect
	}{
		{"cat .e?v", core.MustAsk},
		{"git show 'HEAD:.e*v'", core.MustAsk},
		{"cat *", core.MustAsk},
		{"cat src/*.{go,md}", core.Allow},
		{"find . -name '*'", core.Allow},
		{"echo $$ >&9; sleep 1 & kill $! $?", core.Allow},
		{"cat .env$!", core.Deny},
		{"cat .env$$", core.Allow},
		{"cat {a,.env}", core.Deny},
		{"cat ssl/k.pe?", core.MustAsk},
		{"cat ssl/k*", core.MustAsk},
		{"cat s?crets/x", core.MustAsk},
		{"cat *.go", core.Allow},
		{"cat src/*.go {a,b}.txt", core.Allow},
		{"grep 'k.*m' a.go", core.Allow},
		{"echo {a,b}{a,b}", core.Allow},
		{"echo " + strings.Repeat("{,}", 8) + "x", core.Allow},
		{"echo " + strings.Repeat("{,}", 9) + "x", core.MustAsk},
		{"echo " + strings.Repeat("{,}", 66) + "x", core.MustAsk},
		{"echo " + strings.Repeat("a*", 3000), core.MustAsk},
		{"echo '" + strings.Repeat("{,}", 60) + "x'", core.Allow},
		{"cat x " + strings.Repeat("{a,b}", 9) + " .env", core.Deny},
	} {
		line, want := c.line, c.want
		check := shell(line)
		check.Settings.Trust = true
		v := p.Decide(check)
		if v.Effect != want {
			t.Errorf("%.60q: %s, %s; want %s", line, v.Effect, v.Why, want)
		}
		if strings.Contains(line, strings.Repeat("{,}", 9)) && want == core.MustAsk && (!strings.Contains(v.Why, "more than 8 braces") || v.Remember != "") {
			t.Errorf("%.60q: %q, remembers %q", line, v.Why, v.Remember)
		}
	}
}

// A rule of dragoman's own is about files in one known folder: wildcards are denied there, and
// nowhere else.
func TestWildcardsAndOwnRules(t *testing.T) {
	p := mustNew(t, Rule{Effect: core.Deny, Path: "/home/me/.local/state/dragoman/auth.json", Own: true})
	for _, c := range []struct {
		line string
		want core.Effect
	}{
		{"ls *", core.Allow},
		{"cat a*", core.Allow},
		{"rm -rf build/*", core.Allow},
		{"grep -E '.*' a", core.Allow},
		{"echo $$ $? $# $!", core.Allow},
		{"wc -l /srv/*/*", core.Allow},
		{"cat /home/me/.local/state/dragoman/*", core.Deny},
		{"cat /home/me/.local/state/dragoman/auth.j{s,}on", core.Deny},
		{"cd /home/me/.local/state/dragoman && cat a*", core.Deny},
		{"python3 -c 'print(open(\"/home/*/.local/state/d*/a*\"))'", core.Deny},
	} {
		check := shell(c.line)
		check.Settings.Trust = true
		if v := p.Decide(check); v.Effect != c.want {
			t.Errorf("%q: %s, %s; want %s", c.line, v.Effect, v.Why, c.want)
		}
	}
}

// FuzzSteps counts what a line costs to be compared with rules, in steps. None takes more
// than its share and one comparison, whatever its braces and stars are.
func FuzzSteps(f *testing.F) {
	for _, seed := range []string{
		strings.Repeat("{,}", 66) + "x", strings.Repeat("{a,b}", 8), strings.Repeat("{", 199), strings.Repeat("{a,", 60) + strings.Repeat("}", 60),
		strings.Repeat("*a", 2000), strings.Repeat("[a-z]", 500), strings.Repeat("?*", 900) + ".env", strings.Repeat("*/", 1000), strings.Repeat("{1..9}", 8),
		strings.Repeat("a*b ", 3000), ".e{n,m}v *.p?m", "[[:alpha:]", "'" + strings.Repeat("{,}", 150) + "'",
	} {
		f.Add(seed)
	}
	var rules []Rule
	for range 50 {
		rules = append(rules, Rule{Effect: core.Deny, Path: "**/.env"}, Rule{Effect: core.MustAsk, Path: "**/{a,b}*/**/*.{pem,key}"})
	}
	p := mustNew(f, rules...)
	f.Fuzz(func(t *testing.T, word string) {
		facts := p.look(shell("cat " + word))
		_, denied := p.denies(facts)
		why := p.hardAsk(facts)
		l := facts.lines[0]
		const one = 4 * 4 * maxWild * 100 // the ways of a word and of one rule
		if l.steps > maxSteps+one {
			t.Errorf("%.80q takes %d steps", word, l.steps)
		}
		if (l.tired() || l.crowds) && !denied && why == "" {
			t.Errorf("%.80q was not compared with all rules, and is not asked about", word)
		}
	})
}
