package offer

import (
	"cmp"
	"slices"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/core/control"
	"dragoman/core/inference"
)

// Providers lists the providers of the models.
func (o *Offer) Providers() []eca.ProviderStatus {
	list := []eca.ProviderStatus{}
	if o.Profile == nil {
		return list
	}
	for _, m := range inference.ModelsOf(o.Profile).List {
		provider, id, _ := strings.Cut(m.ID, "/")
		if m.Provider != "" {
			provider, id = m.Provider, strings.TrimPrefix(m.ID, m.Provider+"/")
		}
		i := slices.IndexFunc(list, func(p eca.ProviderStatus) bool { return p.ID == provider })
		if i < 0 {
			status := eca.AuthAuthenticated
			if m.Offline {
				status = eca.AuthLocal
			}
			i = len(list)
			list = append(list, eca.ProviderStatus{ID: provider, Configured: true, Auth: eca.ProviderAuth{Status: status}})
		}
		list[i].Models = append(list[i].Models, eca.ProviderModel{
			ID: id, Capabilities: eca.Capabilities{Reason: m.Thinks, Vision: m.Images, Tools: m.Tools},
		})
	}
	return list
}

// Statuses lists the providers: first those that have an account, each with its models, then the
// providers of models without an account.
func (o *Offer) Statuses(accounts []control.Account) []eca.ProviderStatus {
	models := o.Providers()
	list := []eca.ProviderStatus{}
	for _, a := range accounts {
		list = append(list, o.Status(a))
	}
	for _, p := range models {
		if !slices.ContainsFunc(list, func(have eca.ProviderStatus) bool { return have.ID == p.ID }) {
			list = append(list, p)
		}
	}
	return list
}

// Status describes one provider and its current models. It never contains a key.
func (o *Offer) Status(a control.Account) eca.ProviderStatus {
	p := eca.ProviderStatus{
		ID:         a.Provider,
		Label:      a.Label,
		Configured: a.Configured || a.Local,
		Models:     []eca.ProviderModel{},
	}
	switch {
	case a.Local, a.Configured && a.Source == "": // it needs no key
		p.Auth.Status = eca.AuthLocal
	case a.Configured:
		p.Auth = eca.ProviderAuth{Status: eca.AuthAuthenticated, Type: eca.AuthKey, Source: a.Source}
	default:
		p.Auth.Status = eca.AuthUnauthenticated
	}
	if !a.Local {
		p.Auth.EnvVar = a.EnvVar
	}
	if len(a.Methods) > 0 {
		p.Login = &eca.ProviderLogin{Methods: Ways(a)}
	}
	for _, have := range o.Providers() {
		if have.ID == a.Provider {
			p.Models = have.Models
		}
	}
	return p
}

// Ways lists the ways to log in to an account.
func Ways(a control.Account) []eca.LoginMethod {
	list := []eca.LoginMethod{}
	for _, m := range a.Methods {
		list = append(list, eca.LoginMethod{Key: m.Key, Label: cmp.Or(m.Label, m.Key)})
	}
	return list
}
