package core

import "context"

// Approvals says for one turn what becomes of what would be asked. Empty: as the
// session's settings say.
type Approvals string

const (
	ApprovalsAsk      Approvals = "ask"       // it is asked, however much the session is trusted
	ApprovalsDeny     Approvals = "deny"      // what would be asked is rejected
	ApprovalsReadOnly Approvals = "read-only" // and whatever writes or runs is rejected, asked or not
	ApprovalsAuto     Approvals = "auto"      // what would be asked is allowed; adapters admit it only where the configuration does
)

// AccessOp is a way in which a call touches the world.
type AccessOp string

const (
	OpRead  AccessOp = "read"
	OpWrite AccessOp = "write"
	OpRun   AccessOp = "run"
	OpNet   AccessOp = "net"
)

// Access is one thing that a call would touch. Path is absolute, with symbolic
// links resolved as far as it exists, or a reference to the session's [Spills]; Outside says that
// it lies in none of the session's roots.
type Access struct {
	Op      AccessOp
	Path    string
	Outside bool
	Spilled bool   // it is output of the session's own tools that was cut
	Linked  bool   // it is a file that has other names (hard links), which may be anywhere
	Wide    bool   // its root is the user's home folder or contains it
	Command string // of OpRun
	Sandbox string // of OpRun: how far it is confined, "full" or "files"; otherwise not at all
	URL     string // of OpNet
}

// Check is everything that a policy may look at.
type Check struct {
	Call       Call
	Spec       Spec
	Access     []Access
	Meta       Meta
	Settings   Settings
	Origin     Origin
	Remembered map[string]Decision // by Verdict.Remember: answers for the session that apply to turns of Origin
}

// Effect is the outcome of a policy.
type Effect string

const (
	Allow   Effect = "allow"
	MustAsk Effect = "ask"
	Deny    Effect = "deny"
)

// Verdict is a policy's answer. Remember is the key under which a decision for the session is
// stored, and RememberText describes what it would cover; both are empty if "always" must not be
// offered. Hard is set with MustAsk if only a person may allow the call. Keep stores an allowance for
// good (AllowAlways); nil: that must not be offered.
type Verdict struct {
	Effect       Effect
	Hard         bool
	Why          string
	Remember     string
	RememberText string
	Keep         func(context.Context) error
}

// Policy decides whether a call may run. It is called with no lock held.
type Policy interface{ Decide(Check) Verdict }
