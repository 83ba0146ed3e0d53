package commands

import (
	"context"

	"dragoman/core"
)

// allow makes the newest approval of a person in the session count for good.
func (c *Commands) allow(ctx context.Context, t *core.Turn, args string) string {
	if !c.People() || t.Origin().Caller != "" {
		return "Only a person can allow something for good.\n"
	}
	scope, keep := t.Lasting()
	switch {
	case keep == nil:
		return "There is nothing to allow for good. Allow a call when you are asked about it, and write /allow after that. " +
			"In a terminal, \"dragoman policy allow\" does the same for any call.\n"
	case args != "":
		return "Nothing was allowed: /allow is about what you allowed last (" + scope + "), and takes no words.\n"
	}
	if err := keep(ctx); err != nil {
		return "Nothing was allowed for good: " + err.Error() + "\n"
	}
	return "Allowed for good, in this folder: " + scope + ".\n\nIn a terminal, \"dragoman policy list\" shows what you have allowed in this way, and \"dragoman policy forget\" revokes it.\n"
}
