package core

import "context"

// elsewhere is the owner of a session that lives in another process: what is read comes from a
// Session here, which follows the log, and commands go to an attachment there.
type elsewhere struct {
	*Session
	there *Attachment
}

// AttachElsewhere attaches a client to a session whose commands an attachment in another process
// carries out.
func AttachElsewhere(here *Session, there *Attachment, c Client) *Attachment {
	return attach(elsewhere{here, there}, c)
}

func (e elsewhere) admit(ctx context.Context, _ *Attachment, p Prompt) (TurnID, error) {
	return e.there.owner.admit(ctx, e.there, p)
}
func (e elsewhere) steer(_ *Attachment, b []Block) bool { return e.there.owner.steer(e.there, b) }
func (e elsewhere) unsteer(*Attachment)                 { e.there.owner.unsteer(e.there) }
func (e elsewhere) cancel(id TurnID, reason error)      { e.there.owner.cancel(id, reason) }
func (e elsewhere) settle(ctx context.Context, _ *Attachment, id AskID, r Reply) error {
	return e.there.owner.settle(ctx, e.there, id, r)
}

func (e elsewhere) append(ctx context.Context, idle bool, events ...Event) (MessageID, error) {
	return e.there.owner.append(ctx, idle, events...)
}

func (e elsewhere) truncate(ctx context.Context, by string, after Pos) error {
	return e.there.owner.truncate(ctx, by, after)
}
