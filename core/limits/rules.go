package limits

import (
	"fmt"
	"strconv"

	"dragoman/core"
)

// Rules are the limits of a profile.
type Rules struct {
	Cost   Amounts // in US dollars
	Tokens Amounts
	// Unknown allows what cannot be counted.
	Unknown bool
	// File is where the user writes limits, for messages.
	File string
}

// Amounts are the limits of a unit; 0: there is none.
type Amounts struct{ Turn, Session, Day float64 }

// unit is a unit of limits.
type unit int

const (
	cost unit = iota
	tokens
	units
)

// scope is a scope of limits.
type scope int

const (
	turn scope = iota
	session
	day
	scopes
)

// quantity is an amount of each unit.
type quantity [units]float64

func quantityOf(e core.Expense) quantity { return quantity{e.Cost, float64(e.Tokens)} }

func (q *quantity) add(o quantity) {
	for u := range q {
		q[u] += o[u]
	}
}

func (q quantity) negative() quantity {
	for u := range q {
		q[u] = -q[u]
	}
	return q
}

// of returns the limit of a scope and a unit; 0: there is none.
func (r Rules) of(s scope, u unit) float64 {
	amounts := r.Cost
	if u == tokens {
		amounts = r.Tokens
	}
	return [scopes]float64{amounts.Turn, amounts.Session, amounts.Day}[s]
}

// has reports whether there is a limit of a unit, or in a scope.
func (r Rules) has(which func(scope, unit) bool) bool {
	for s := range scopes {
		for u := range units {
			if which(s, u) && r.of(s, u) > 0 {
				return true
			}
		}
	}
	return false
}

func (r Rules) inUnit(is unit) bool { return r.has(func(_ scope, u unit) bool { return u == is }) }

func (r Rules) inScope(is scope) bool { return r.has(func(s scope, _ unit) bool { return s == is }) }

// reached is a limit that an expense would exceed.
type reached struct {
	scope scope
	unit  unit
	limit float64 // as written
	used  float64
	least float64 // that the next request takes
}

// check returns the first limit of a scope that an expense would exceed, with what was used and up to where a
// person has let it go on; nil: none.
func (r Rules) check(s scope, used, granted, least quantity) *reached {
	for u := range units {
		limit := r.of(s, u)
		if upTo := max(limit, granted[u]); limit > 0 && (used[u] >= upTo || used[u]+least[u] > upTo) {
			return &reached{s, u, limit, used[u], least[u]}
		}
	}
	return nil
}

// more is how far a turn goes on at a limit: by as much again, or at least by the next request.
func (l *reached) more() float64 { return max(l.limit, l.least) }

// key is the name of the setting.
func (l *reached) key() string {
	return "limits." + [units]string{"cost", "tokens"}[l.unit] + "." + [scopes]string{"turn", "session", "day"}[l.scope]
}

// String says for people what was spent.
func (l *reached) String() string {
	text := fmt.Sprintf("%s spent %s of the %s of %s", [scopes]string{"This turn has", "This session has", "Today's sessions have"}[l.scope], l.unit.words(l.used), l.unit.words(l.limit), l.key())
	if l.used < l.limit {
		text += ", and the next request takes at least " + l.unit.words(l.least)
	}
	return text + "."
}

// words returns an amount for people.
func (u unit) words(n float64) string {
	if u == tokens {
		return strconv.FormatFloat(n, 'f', 0, 64) + " tokens"
	}
	digits := 2
	for d := n; d > 0 && d < 1 && digits < 6; d *= 10 {
		digits++
	}
	return "$" + strconv.FormatFloat(n, 'f', digits, 64)
}
