package configs

import (
	"errors"
	"net/url"
	"strings"
)

// Choice is a model, and the reason why it was chosen.
type Choice struct {
	Provider string
	Model    string
	Settings Provider   // its provider; zero for the offline one. Config.Key has the key
	Reason   string     // one clause for a message
	Places   []KeyPlace // every place that was searched for a key, in order
}

// KeyPlace is one place that was searched for a key.
type KeyPlace struct {
	Provider string
	Variable string // environment variable, or the setting providers.NAME.api_key; empty: the stored key
	Found    bool
	Note     string // the reason why an apparent key does not count, or empty
}

func offline() Choice { return Choice{Provider: OfflineProvider, Model: OfflineModel} }

// Offline reports whether this is the built-in demo model.
func (c Choice) Offline() bool { return c.Provider == OfflineProvider }

// String returns PROVIDER/MODEL.
func (c Choice) String() string { return c.Provider + "/" + c.Model }

// ChooseModel chooses the default model: the model setting; else the default model of the first
// known provider, in the order of KnownProviders, that has a key in the configuration, in a
// variable or in the store; else the offline model. Local providers are never chosen
// automatically. It reads variables and referenced files, and does not use the network.
func (c *Config) ChooseModel(env Env, logins Logins) Choice {
	places := c.look(env, logins)
	if c.Model != "" {
		choice, message := c.parseModel(c.Model)
		if message != "" { // only for a Config that neither Load nor Resolve made
			choice, choice.Reason = offline(), "model "+message
		} else {
			choice.Reason = "model is set"
			if at, ok := c.Where("model"); ok {
				choice.Reason += " in " + at.String()
			}
		}
		choice.Places = places
		return choice
	}
	choice := offline()
	choice.Places = places
	for _, l := range places {
		if l.Found {
			k, _ := KnownProvider(l.Provider)
			choice.Provider, choice.Model, choice.Reason = k.Name, k.Model, l.Variable+" is set"
			if l.Variable == "" {
				choice.Reason = "a key was given for " + k.Name
				if c.Directed(k.Name) {
					choice.Reason = "the editor says where " + k.Name + " is reached"
				}
			}
			choice.Settings, _ = c.Provider(k.Name)
			return choice
		}
	}
	choice.Reason = "no model is configured and no key was found"
	return choice
}

// FindModel resolves PROVIDER/MODEL, from a person or an agent's settings. The error
// explains the problem of the name.
func (c *Config) FindModel(spec string) (Choice, error) {
	choice, message := c.parseModel(spec)
	if message != "" {
		return Choice{}, errors.New("model " + message)
	}
	choice.Reason = "asked for"
	return choice, nil
}

// otherAddress returns the variable that says that the key in the environment is for another
// address than the provider's own: programs set both when they start others. "": there is none, or
// the configuration has an address.
func (c *Config) otherAddress(k ProviderPreset, key string, env Env) string {
	if !c.Providers[k.Name].BaseURL.IsZero() {
		return ""
	}
	for _, name := range []string{strings.TrimSuffix(key, "_API_KEY") + "_BASE_URL", "GOOGLE_" + strings.ToUpper(k.Name) + "_BASE_URL"} {
		address, _ := env.lookup(name)
		if address = strings.TrimSpace(address); address == "" {
			continue
		}
		there, err := url.Parse(address)
		own, ownErr := url.Parse(k.BaseURL)
		if err != nil || ownErr != nil || there.Host != own.Host {
			return name
		}
	}
	return ""
}

// look searches for the keys of all known providers.
func (c *Config) look(env Env, logins Logins) []KeyPlace {
	var all []KeyPlace
	for _, k := range KnownProviders() {
		if k.Local() || c.Disabled(k.Name) {
			continue
		}
		if c.Directed(k.Name) {
			all = append(all, KeyPlace{Provider: k.Name, Found: true})
			continue
		}
		if !c.Providers[k.Name].APIKey.IsZero() {
			l := KeyPlace{Provider: k.Name, Variable: join(join("providers", k.Name), "api_key")}
			err := c.CheckKey(k.Name, env, logins)
			var wrong *Error
			if errors.As(err, &wrong) {
				l.Note = wrong.Problems[0].Message
			}
			l.Found = err == nil
			all = append(all, l)
			continue
		}
		for _, name := range k.Keys {
			l := KeyPlace{Provider: k.Name, Variable: name}
			secret, ok := env.lookup(name)
			l.Found = strings.TrimSpace(secret) != ""
			other := c.otherAddress(k, name, env)
			switch {
			case ok && !l.Found:
				l.Note = "is set but empty"
			case l.Found && other != "":
				l.Found = false
				l.Note = "is for the address in " + other + "; set " + join(join("providers", k.Name), "base_url") + " to use it"
			}
			all = append(all, l)
		}
		if logins != nil && logins.Has(k.Name) {
			all = append(all, KeyPlace{Provider: k.Name, Found: true})
		}
	}
	return all
}
