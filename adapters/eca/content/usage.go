package content

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/inference"
)

// Usage returns what a model's answer took. output is the model's longest answer, in tokens. Clients
// show SessionTokens beside the window, as a part of it: it is what the last request and its answer
// fill, as with the reference server. summed means a client of document 000 or 001, for which it is the
// sum of the session, and which has no bar of the window.
func Usage(e core.UsageChanged, output int, summed bool) eca.UsageContent {
	fills := cmp.Or(e.Context, e.Last.In+e.Last.Out)
	if summed {
		fills = cmp.Or(e.Total.In+e.Total.Out, e.Context) // an external agent may count its window alone
	}
	c := eca.UsageContent{
		Type: eca.TypeUsage, MessageInputTokens: e.Last.In, MessageOutputTokens: e.Last.Out, SessionTokens: fills,
		MessageCost: costText(e.Last.Cost), LastMessageCost: costText(e.Last.Cost), SessionCost: costText(e.Total.Cost),
	}
	if e.Window > 0 {
		c.Limit = &eca.Limit{Context: e.Window, Output: output}
	}
	if len(e.Shares) > 0 && !summed {
		c.AutoCompactPercentage, c.ContextBreakdown = e.CompactAt, breakdown(e)
	}
	return c
}

// swatch is the colour and the sign of a category. They are those of the reference server, so that
// a user of both knows them.
type swatch struct{ color, emoji string }

var (
	swatches = map[string]swatch{
		inference.PartSystem:       {"#61afef", "🟦"},
		inference.PartInstructions: {"#d19a66", "🟫"},
		inference.PartRules:        {"#c678dd", "🟪"},
		inference.PartSkills:       {"#e5c07b", "🟨"},
		inference.PartContext:      {"#56b6c2", "🔷"},
		inference.PartTools:        {"#e8924a", "🟧"},
		inference.PartCalls:        {"#e06c75", "🟥"},
		inference.PartMessages:     {"#98c379", "🟩"},
	}
	freeSwatch = swatch{"#5c6370", "⬜"}
)

// breakdown divides the window for a bar.
func breakdown(e core.UsageChanged) *eca.ContextBreakdown {
	b := &eca.ContextBreakdown{
		Categories: make([]eca.ContextCategory, len(e.Shares)), UsedTokens: e.Context, ContextLimit: e.Window,
		FreeColor: freeSwatch.color, FreeEmoji: freeSwatch.emoji,
	}
	for i, s := range e.Shares {
		look := cmp.Or(swatches[s.Part], freeSwatch)
		b.Categories[i] = eca.ContextCategory{Name: inference.PartTitle(s.Part), Tokens: s.Tokens, Color: look.color, Emoji: look.emoji}
	}
	if e.Window > 0 {
		free := max(0, e.Window-e.Context)
		b.FreeTokens = &free
	}
	return b
}

// costText returns an amount with the digits it needs, at most six after the point; "" if it is
// not known.
func costText(cost *float64) string {
	if cost == nil || math.IsNaN(*cost) || math.IsInf(*cost, 0) {
		return ""
	}
	text := strings.TrimRight(strconv.FormatFloat(*cost, 'f', 6, 64), "0")
	whole, cents, _ := strings.Cut(text, ".")
	for len(cents) < 2 {
		cents += "0"
	}
	return whole + "." + cents
}
