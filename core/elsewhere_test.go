package core

import "context"

// elsewhere is the owner of a session that lives in another process: what is read comes from a
// Session here, which follows the log, and commands go to an attachment there.
type elsewhere struct {
	local
	there *Attachment
}

// AttachElsewhere attaches a client to a session whose commands an attachment in another process
// carries out.
func AttachElsewhere(here *Session, there *Attachment, c Client) *Attachment {
	return attach(elsewhere{local{here}, there}, c)
}

func (e elsewhere) Admit(ctx context.Context, _ *Attachment, p Prompt) (TurnID, error) {
	return e.there.owner.Admit(ctx, e.there, p)
}
func (e elsewhere) Steer(_ *Attachment, b []Block) bool { return e.there.owner.Steer(e.there, b) }
func (e elsewhere) Unsteer(*Attachment)                 { e.there.owner.Unsteer(e.there) }
func (e elsewhere) Cancel(_ *Attachment, id TurnID, reason error) {
	e.there.owner.Cancel(e.there, id, reason)
}

func (e elsewhere) Settle(ctx context.Context, _ *Attachment, id AskID, r Reply) error {
	return e.there.owner.Settle(ctx, e.there, id, r)
}

func (e elsewhere) Append(ctx context.Context, _ *Attachment, idle bool, events ...Event) (MessageID, error) {
	return e.there.owner.Append(ctx, e.there, idle, events...)
}

func (e elsewhere) Truncate(ctx context.Context, _ *Attachment, after Pos) error {
	return e.there.owner.Truncate(ctx, e.there, after)
}
