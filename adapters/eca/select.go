package eca

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.uber.org/zap"

	"dragoman/adapters/eca/offer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// modelSelected handles chat/selectedModelChanged.
func (s *Server) modelSelected(ctx context.Context, _ *wire.Call, p eca.ModelSelectedParams) error {
	return s.selected(ctx, p.ChatID, offer.Choice{Model: p.Model, Variant: said(p.Variant)})
}

// agentSelected handles chat/selectedAgentChanged, and chat/selectedBehaviorChanged of 000.
func (s *Server) agentSelected(ctx context.Context, _ *wire.Call, p eca.AgentSelectedParams) error {
	ch := offer.Choice{}
	ch.SelectAgent(said(p.Behavior))
	ch.SelectAgent(said(p.Agent))
	s.selectAgent(ch.Agent)
	return s.selected(ctx, p.ChatID, ch)
}

// selected records a choice, for a chat or for all chats without a choice of their own. Both are
// answered with config/updated.
func (s *Server) selected(ctx context.Context, id *string, ch offer.Choice) error {
	if id != nil {
		if err := checkID(*id); err != nil {
			return err
		}
		c := s.chatOf(*id)
		c.queue.Go(func() { c.choose(ctx, ch) })
		return nil
	}
	s.mu.Lock()
	s.chosen = ch.Over(s.chosen)
	s.mu.Unlock()
	o := s.refresh(ctx)
	s.pump.Do(func() { s.announceChoices(o) })
	return nil
}

// announceChoices announces the offer, and then the choices of each chat: the Emacs client takes
// the first for the choice of all chats. It belongs to the pump.
func (s *Server) announceChoices(o *offer.Offer) {
	s.configUpdated("", o.Config(s.defaults(o)))
	if s.peerNow().lacks[eca.MethodModelSelected] { // it has one choice for all chats
		return
	}
	chats := s.allChats()
	slices.SortFunc(chats, func(a, b *chat) int { return strings.Compare(string(a.id), string(b.id)) })
	for _, c := range chats {
		switch {
		case c.child:
		case c.feed != nil:
			s.configUpdated(c.id, o.Config(c.feed.view.settings, c.feed.view.plan))
		case c.wish != nil:
			s.configUpdated(c.id, o.Config(s.wished(o, *c.wish)))
		}
	}
}

// wished returns the settings that a chat will begin with.
func (s *Server) wished(o *offer.Offer, ch offer.Choice) (set core.Settings, plan bool) {
	s.mu.Lock()
	ch = ch.Over(s.chosen)
	s.mu.Unlock()
	o.Apply(ch, &set, &plan)
	return set, plan
}

// follow copies a chat's choice to the connection if the document has only one choice for all
// chats, so that an announcement for one chat does not undo another's choice.
func (s *Server) follow(o *offer.Offer, set core.Settings, plan bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peer.lacks[eca.MethodModelSelected] {
		s.chosen = offer.Choice{Model: o.ModelIn(set), Variant: set.Effort, Agent: o.BehaviorIn(set, plan)}
	}
}

// choose changes the choices of a chat. A chat that has not begun keeps them until it does.
func (c *chat) choose(ctx context.Context, ch offer.Choice) {
	o := c.srv.refresh(ctx)
	att, err := c.attach(ctx, false, nil)
	if errors.Is(err, core.ErrNotFound) {
		c.chosen = ch.Over(c.chosen)
		wish := c.chosen
		c.srv.pump.Do(func() {
			c.wish = &wish
			c.srv.configUpdated(c.id, o.Config(c.srv.wished(o, wish)))
		})
		return
	}
	if err != nil {
		c.complain(err)
		return
	}
	was, plan := att.State().Settings, c.plan
	set := was
	o.Apply(ch, &set, &c.plan)
	if set == was || c.plan != plan { // the chat's log does not show it
		c.announce(o, set)
	}
	if err := att.Set(ctx, set); err != nil {
		c.complain(err)
	}
}

// announce announces the choices of the chat.
func (c *chat) announce(o *offer.Offer, set core.Settings) {
	plan := c.plan
	c.srv.pump.Do(func() {
		if c.feed != nil {
			c.feed.view.plan = plan
		}
		c.srv.configUpdated(c.id, o.Config(set, plan))
	})
}

// complain shows the user that a choice could not be stored.
func (c *chat) complain(err error) {
	c.srv.log.Warn("a choice was not stored", zap.String("session", string(c.id)), zap.Error(err))
	c.srv.pump.Do(func() { c.srv.showMessage(eca.MessageError, "The choice could not be kept: "+err.Error()) })
}
