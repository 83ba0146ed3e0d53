package acp

import (
	"slices"
	"strings"

	"dragoman/adapters/clients"
	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// A client that shows the names of options gets all of them. Others have one key, or button, for each kind
// of option and a word of their own for it: they get one option of each kind, and none that allows more
// than what is asked about. So "always", which they say for the kind, is for the session, and what is to
// last has a step of its own: the command /allow.

// answers lists our own answers to an approval. covers is what their names say about those that last.
func answers(a core.Ask, covers string) []core.Option {
	list := []core.Option{{ID: string(core.AllowOnce), Label: "Allow", Decision: core.AllowOnce}}
	if o := forTheSession; a.Remember != "" {
		o.Description = covers
		list = append(list, o)
	}
	if a.Always {
		list = append(list, core.Option{ID: string(core.AllowAlways), Label: "Always allow", Description: covers, Decision: core.AllowAlways, Changes: true})
	}
	list = append(list, core.Option{ID: string(core.RejectOnce), Label: "Reject", Decision: core.RejectOnce})
	if a.Remember != "" {
		list = append(list, core.Option{ID: string(core.RejectAlways), Label: "Reject for this session", Description: covers, Decision: core.RejectAlways})
	}
	return list
}

var forTheSession = core.Option{ID: string(core.AllowSession), Label: "Allow for this session", Decision: core.AllowSession}

// permissions lists the answers to an approval that the client is offered. Of an agent's own list each stays
// what it is; ours for the session takes the place of one that covers more, where the list is no more than
// yes and no.
func permissions(of clients.Row, a core.Ask) []acp.PermissionOption {
	if len(a.Options) == 0 {
		covers := ""
		if of.Gateway {
			covers = a.Remember
		}
		return listed(of, answers(a, covers))
	}
	list := listed(of, a.Options)
	lasts := slices.ContainsFunc(list, func(o acp.PermissionOption) bool { return o.Kind == acp.AllowAlways })
	if !lasts && !of.Names && a.Fits() && a.Remember != "" && !offers(list, forTheSession.ID) {
		list = slices.Insert(list, 1, optionOf(forTheSession, acp.AllowAlways))
	}
	return list
}

// listed lists the options that the client is offered. Every rejection stays, under the other kind if there
// are two.
func listed(of clients.Row, options []core.Option) (list []acp.PermissionOption) {
	if of.Names {
		for _, o := range options {
			list = append(list, optionOf(o, optionKind(o.Decision)))
		}
		return list
	}
	rejects := slices.DeleteFunc(slices.Clone(options), func(o core.Option) bool { return o.Decision != core.RejectOnce && o.Decision != core.RejectAlways })
	plain := slices.IndexFunc(rejects, func(o core.Option) bool { return o.Decision == core.RejectOnce })
	used := map[acp.PermissionKind]bool{}
	for _, o := range options {
		kind := optionKind(o.Decision)
		switch {
		case o.Decision.Allows() && (o.Changes || used[kind]):
			continue
		case o.Decision.Allows():
		case o.Decision == "" && len(rejects) > 0: // what it means only its name says
			continue
		case o.Decision == "":
		case o.ID == rejects[max(plain, 0)].ID:
			kind = acp.RejectOnce
		default:
			kind = acp.RejectAlways
		}
		used[kind] = true
		list = append(list, optionOf(o, kind))
	}
	return list
}

func optionOf(o core.Option, kind acp.PermissionKind) acp.PermissionOption {
	return acp.PermissionOption{OptionID: o.ID, Name: optionName(o), Kind: kind}
}

// offers reports whether an answer was offered.
func offers(list []acp.PermissionOption, id string) bool {
	return slices.ContainsFunc(list, func(o acp.PermissionOption) bool { return o.OptionID == id })
}

// scope says what our answers to an approval cover, beyond the call; empty: nothing.
func scope(a core.Ask, list []acp.PermissionOption) string {
	always := a.Always && len(a.Options) == 0
	switch {
	case !offers(list, forTheSession.ID):
		return ""
	case always && offers(list, string(core.AllowAlways)):
		return "“" + forTheSession.Label + "” and “Always allow”, which is for this folder, cover " + a.Remember + "."
	case always:
		return "“" + forTheSession.Label + "” covers " + a.Remember + ". To allow it for good, in this folder, write /allow after that."
	}
	return "“" + forTheSession.Label + "” covers " + a.Remember + "."
}

// optionName returns all that an option says: the protocol has one text for it.
func optionName(o core.Option) string {
	return strings.TrimSuffix(o.Label+": "+o.Description, ": ")
}

// optionKind returns the protocol's word for a decision. An option without a decision must
// not look like a yes.
func optionKind(d core.Decision) acp.PermissionKind {
	switch d {
	case core.AllowOnce:
		return acp.AllowOnce
	case core.AllowSession, core.AllowAlways:
		return acp.AllowAlways
	case core.RejectAlways:
		return acp.RejectAlways
	case core.RejectOnce:
	}
	return acp.RejectOnce
}
