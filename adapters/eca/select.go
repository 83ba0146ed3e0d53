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
	return s.selected(ctx, p.ChatID, offer.Selected(p.Model, said(p.Variant)))
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
			s.configUpdated(c.id, o.Config(c.feed.view.state))
		case c.wish != nil:
			s.configUpdated(c.id, o.Config(s.wished(o, *c.wish)))
		}
	}
}

// wished returns the state that a chat will begin with.
func (s *Server) wished(o *offer.Offer, ch offer.Choice) (st offer.State) {
	s.mu.Lock()
	ch = ch.Over(s.chosen)
	s.mu.Unlock()
	o.Apply(ch, &st)
	return st
}

// follow copies a chat's choice to the connection if the document has only one choice for all
// chats, so that an announcement for one chat does not undo another's choice.
func (s *Server) follow(o *offer.Offer, st offer.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.peer.lacks[eca.MethodModelSelected] {
		return
	}
	s.chosen = offer.Choice{Model: o.ModelIn(st), Agent: o.BehaviorIn(st)}
	if _, variant := o.Variants(st); variant != nil {
		s.chosen.Variant = *variant
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
		c.prepareSoon(ctx, o, c.srv.wished(o, wish))
		return
	}
	if err != nil {
		c.complain(err)
		return
	}
	was := c.stateOf(att)
	st := was
	picks := o.Apply(ch, &st)
	c.plan = st.Plan
	if st.Settings != was.Settings || len(picks) == 0 {
		if err := att.Set(ctx, st.Settings); err != nil {
			c.complain(err)
		}
	}
	told := c.pick(ctx, att, picks)
	if st.Settings == was.Settings && len(picks) == 0 || c.plan != was.Plan || len(told) > 0 { // the chat's log does not show it
		st.Offered = att.State().Offered
		c.announce(o, st)
	}
	c.srv.pump.Do(func() {
		for _, text := range told {
			c.remark(text)
		}
	})
	c.prepareSoon(ctx, o, st)
}

// stateOf returns what the chat goes by now.
func (c *chat) stateOf(att *core.Attachment) offer.State {
	st := att.State()
	return offer.State{Settings: st.Settings, Plan: c.plan, Offered: st.Offered}
}

// announce announces the choices of the chat.
func (c *chat) announce(o *offer.Offer, st offer.State) {
	c.srv.pump.Do(func() {
		if c.feed != nil {
			c.feed.view.state.Plan = st.Plan
		}
		c.srv.configUpdated(c.id, o.Config(st))
	})
}

// complain shows the user that a choice could not be stored.
func (c *chat) complain(err error) {
	c.srv.log.Warn("a choice was not stored", zap.String("session", string(c.id)), zap.Error(err))
	c.srv.pump.Do(func() { c.srv.showMessage(eca.MessageError, "The choice could not be kept: "+err.Error()) })
}
