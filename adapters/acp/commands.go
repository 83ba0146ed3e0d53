package acp

import (
	"context"
	"reflect"
	"strings"
	"time"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// commandsAfter is the delay of the commands after the answer to session/new: some clients do not
// know a session yet when they read its first update together with that answer.
const commandsAfter = 50 * time.Millisecond

// sendInitial sends the updates that a client gets without asking, a moment after the answer that
// opened the session.
func (s *session) sendInitial(ctx context.Context) {
	s.srv.wg.Go(func() {
		timer := time.NewTimer(commandsAfter)
		defer timer.Stop()
		select {
		case <-timer.C:
			s.sendCommands(ctx)
			s.sendUsage()
			s.warnOfServers()
			s.warn(s.unknown)
			s.warn(s.offer.Load().profile.Fault)
			s.warn(s.missing)
			if len(s.foreign) > 0 {
				s.warn(
					"This session keeps the folders that it was made with; it does not have " + strings.Join(s.foreign, ", "),
				)
			}
		case <-ctx.Done():
		}
	})
}

// sendUsage sends the usage so far to a client that does not get the past.
func (s *session) sendUsage() {
	if s.loaded {
		return
	}
	s.send(func(v *View) []byte {
		st := s.att.State()
		return usage(nil, v, core.UsageChanged{Total: st.Usage, Context: st.Context, Window: st.Window})
	})
}

// sendCommands sends available_commands_update. It is sent again with the first
// prompt, for clients that lost the first one; the list is whole each time.
func (s *session) sendCommands(ctx context.Context) { s.listCommands(ctx, false) }

// sendChangedCommands sends the commands if they have changed.
func (s *session) sendChangedCommands(ctx context.Context) { s.listCommands(ctx, true) }

// listCommands reads the commands and sends them. Several goroutines do that at a time: a list that
// one began to read after another one is newer, and the older one is not sent behind it.
func (s *session) listCommands(ctx context.Context, changed bool) {
	reading := s.srv.readings.Add(1)
	list, ok := s.commands(ctx)
	if !ok {
		return
	}
	s.send(func(v *View) []byte {
		if reading < v.reading {
			list = v.listed
		}
		v.reading = max(v.reading, reading)
		if none := len(list.AvailableCommands)+len(v.listed.AvailableCommands) == 0; none ||
			changed && reflect.DeepEqual(list.AvailableCommands, v.listed.AvailableCommands) {
			return nil
		}
		v.listed = s.srv.shared(list)
		return update(nil, v, v.listed)
	})
}

// shared returns the list of commands that was sent last if it equals list, so that sessions
// share one copy. Only the pump calls it.
func (s *Server) shared(list acp.CommandsUpdate) acp.CommandsUpdate {
	if !reflect.DeepEqual(s.commands, list) {
		s.commands = list
	}
	return s.commands
}

// commands returns the session's commands; false: they are unknown, and the error in the
// configuration is reported elsewhere.
func (s *session) commands(ctx context.Context) (list acp.CommandsUpdate, ok bool) {
	all, err := s.srv.opts.Gateway.Commands(ctx, s.att)
	if err != nil || all == nil {
		return list, false
	}
	return commandsOf(all, s.offer.Load().external(chosen(s.att.State()))), true
}

// commandsOf lists commands. In a session of an external agent each says whose it is: either may
// have one that the user takes for the other's.
func commandsOf(list []core.Command, external string) acp.CommandsUpdate {
	u := acp.CommandsUpdate{
		SessionUpdate:     "available_commands_update",
		AvailableCommands: make([]acp.AvailableCommand, len(list)),
	}
	for i, c := range list {
		u.AvailableCommands[i] = acp.AvailableCommand{Name: c.Name, Description: c.Description}
		if external != "" {
			whose := "dragoman"
			if c.Kind == core.CommandAgent {
				whose = external
			}
			u.AvailableCommands[i].Description = strings.TrimSuffix(whose+": "+c.Description, ": ")
		}
		var names []string
		for _, a := range c.Arguments {
			names = append(names, a.Name)
		}
		if len(names) > 0 {
			u.AvailableCommands[i].Input = &acp.CommandInput{Hint: strings.Join(names, " ")}
		}
	}
	return u
}
