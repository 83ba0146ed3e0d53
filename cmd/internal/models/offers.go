package models

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/configs"
	"dragoman/core/datadir"
	"dragoman/core/inference"
	"dragoman/core/llm"
)

const (
	offersFile   = "models.json"
	offersFresh  = 24 * time.Hour      // a list is asked for again when it is older
	offersPause  = 15 * time.Minute    // before a service that has failed is asked again
	offersKept   = 30 * 24 * time.Hour // a list that nobody has asked for is forgotten
	offersChange = 2 * time.Second     // waiting for other processes that change the file
)

// Offers keeps the lists of models that services have answered with: in memory, and in a file that
// all processes share. A list is found by the service's address, headers and key (of which the file
// has only a hash).
type Offers struct {
	file datadir.Document[map[string]offerList]

	mu    sync.Mutex           // guards the fields below
	lists map[string]offerList // answered in this process
	tried map[string]time.Time // failures in this process
}

// offerList is one answer of a service.
type offerList struct {
	Asked  time.Time    `json:"asked"`
	Models []offerModel `json:"models"`
}

// offerModel is the stored form of a model's description.
type offerModel struct {
	ID     string `json:"id"` // PROVIDER/MODEL
	Name   string `json:"name,omitempty"`
	Window int    `json:"window,omitempty"`
	MaxOut int    `json:"max_out,omitempty"`
	Tools  bool   `json:"tools"`
	Images bool   `json:"images"`
	Thinks bool   `json:"thinks"`
}

// NewOffers returns the lists in the data folder, whose files dataFile names; empty names: there is
// none, and the lists are kept in memory only. It reads nothing.
func NewOffers(dataFile func(name string) string) *Offers {
	o := &Offers{lists: map[string]offerList{}, tried: map[string]time.Time{}}
	o.file.Path = dataFile(offersFile)
	o.file.Decode = func(text []byte) (lists map[string]offerList, _ error) {
		if json.Unmarshal(text, &lists) != nil {
			return nil, nil // it is made anew
		}
		return lists, nil
	}
	return o
}

// list returns the newest list of a service.
func (o *Offers) list(key string) (offerList, bool) {
	var kept map[string]offerList
	if o.file.Path != "" {
		kept, _ = o.file.Read() //nolint:errcheck // an unreadable file has no lists
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	a, have := kept[key]
	if b, ok := o.lists[key]; ok && b.Asked.After(a.Asked) {
		return b, true
	}
	return a, have
}

// models returns the newest models of a service.
func (o *Offers) models(key string) []offerModel {
	l, _ := o.list(key)
	return l.Models
}

// infosOf describes models.
func infosOf(list []offerModel) (infos []inference.ModelInfo) {
	for _, m := range list {
		infos = append(infos, inference.ModelInfo{
			ID: m.ID, Name: m.Name, Window: m.Window, MaxOut: m.MaxOut, Tools: m.Tools, Images: m.Images, Thinks: m.Thinks,
		})
	}
	return infos
}

// due reports whether a service is to be asked.
func (o *Offers) due(key string) bool {
	now := time.Now()
	if l, ok := o.list(key); ok && now.Sub(l.Asked).Abs() < offersFresh { // a clock may have gone back
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	failed, ok := o.tried[key]
	return !ok || now.Sub(failed) >= offersPause
}

// failed records that a service has given no list.
func (o *Offers) failed(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tried[key] = time.Now()
}

// keep stores a service's list.
func (o *Offers) keep(ctx context.Context, key string, infos []inference.ModelInfo) {
	next := offerList{Asked: time.Now().UTC().Round(0), Models: []offerModel{}}
	for _, i := range infos {
		next.Models = append(next.Models, offerModel{i.ID, i.Name, i.Window, i.MaxOut, i.Tools, i.Images, i.Thinks})
	}
	o.mu.Lock()
	o.lists[key] = next
	delete(o.tried, key)
	o.mu.Unlock()
	if o.file.Path == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, offersChange)
	defer cancel()
	//nolint:errcheck // then other processes ask themselves
	_ = o.file.Change(ctx, func(now map[string]offerList) (map[string]offerList, error) {
		all := map[string]offerList{}
		for k, l := range now {
			if time.Since(l.Asked) < offersKept {
				all[k] = l
			}
		}
		all[key] = next
		return all, nil
	})
}

// service is a provider whose service is asked for its models.
type service struct {
	provider string
	key      string // of its list in Offers
	runs     bool   // a program prints its key or a header
	models   []offerModel
}

// serviceOf returns the service of a provider; ok is false if it is not asked: it has no list, or it
// is one that the catalogue describes. named: the model or an agent's names it. The address is
// always one that the user has chosen, or one of this machine.
func serviceOf(c *configs.Config, o Options, p llm.Provider, named bool) (s service, ok bool) {
	settings, configured := c.Providers[p.Name]
	preset, isKnown := configs.KnownProvider(p.Name)
	own := configured && p.BaseURL != "" && strings.TrimRight(p.BaseURL, "/") != preset.BaseURL
	local := isKnown && preset.Local() && (configured || named)
	if !llm.Lists(p.Kind) || !own && !local {
		return s, false
	}
	s = service{provider: p.Name, runs: p.LateHeaders != nil}
	parts := []string{p.Name, p.Kind, p.BaseURL}
	switch source, variable := c.KeySource(p.Name, o.Env, o.Given); source {
	case configs.KeyConfigured:
		text := settings.APIKey.String() // references as written
		if settings.APIKey.RunsProgram() {
			s.runs = true
		} else if secret, err := settings.APIKey.Resolve(o.Env); err == nil {
			text = secret
		}
		parts = append(parts, text)
	case configs.KeyInEnv:
		secret, _ := o.Env(variable)
		parts = append(parts, secret)
	case configs.KeyGiven:
		if parts = append(parts, "given"); o.GivenRev != nil {
			parts = append(parts, o.GivenRev(p.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings.Headers)) {
		parts = append(parts, name, cmp.Or(p.Headers[name], settings.Headers[name].String()))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	s.key = hex.EncodeToString(sum[:16])
	return s, true
}

// Asking says which services are asked.
type Asking struct {
	Anew bool // those with a fresh list as well
	Runs bool // those whose key is printed by a program as well, which may ask the user
}

// Ask asks the services whose lists are missing or old for their models, all at once. news is set
// if a list is another one than when the Finder was made: a new Finder has it. The error is that of
// the services that gave none. Ask returns within the time for one list, unless programs print keys.
func (m *Finder) Ask(ctx context.Context, which Asking) (news bool, err error) {
	var all sync.WaitGroup
	wrong := make([]error, len(m.services))
	for i, s := range m.services {
		if s.runs && !which.Runs || !which.Anew && !m.offers.due(s.key) {
			continue
		}
		all.Go(func() {
			infos, err := m.registry.Offers(ctx, s.provider)
			switch {
			case err == nil:
				m.offers.keep(ctx, s.key, infos)
			case ctx.Err() == nil:
				m.offers.failed(s.key)
			}
			wrong[i] = err
		})
	}
	all.Wait()
	for _, s := range m.services {
		news = news || !slices.Equal(m.offers.models(s.key), s.models)
	}
	return news, errors.Join(wrong...)
}
