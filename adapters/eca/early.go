package eca

import (
	"dragoman/adapters/proto/eca"
	"dragoman/core"
)

// Dialect is the document of the protocol that a client speaks.
type Dialect uint8

const (
	Now    Dialect = iota // today's
	Doc000                // the later one of the two early documents
	Doc001                // the earlier one
)

// String names the dialect in logs and tests.
func (d Dialect) String() string {
	switch d {
	case Now:
		return "now"
	case Doc000:
		return "000"
	case Doc001:
		return "001"
	}
	return "unknown"
}

// early says whether the client speaks one of the early documents: no status and
// no opening of chats, no start-up tasks, and in a turn this order: progress
// running, the user's text, the answer to the prompt, contents, progress finished.
func (d Dialect) early() bool { return d != Now }

// dialectOf tells the documents apart by what only one of them has.
func dialectOf(caps *eca.CodeAssistant, opts eca.InitOptions) Dialect {
	if caps == nil {
		caps = &eca.CodeAssistant{}
	}
	switch {
	case caps.Doc != nil || caps.Edit != nil || caps.Fix != nil:
		return Doc001
	case caps.ChatCapabilities != nil || caps.Rewrite != nil || said(opts.ChatAgent) != "":
		return Now
	case said(opts.ChatBehavior) != "":
		return Doc000
	}
	return Now
}

// promptStatus is the word for a prompt that was taken.
func (d Dialect) promptStatus() eca.PromptStatus {
	if d == Doc001 {
		return eca.StatusSuccess
	}
	return eca.StatusPrompting
}

// failedStatus is the word for a prompt that was not taken. The early documents
// have none: what went wrong stands in the chat.
func (d Dialect) failedStatus() eca.PromptStatus {
	if d.early() {
		return d.promptStatus()
	}
	return eca.StatusFailed
}

// The reasons why a call did not run, before they are put into words.
type refusal uint8

const (
	byUser refusal = iota
	byRule
	byStop
)

// reason is the word for a refusal.
func (d Dialect) reason(r refusal) eca.RejectReason {
	words := [...][3]eca.RejectReason{
		Now:    {byUser: eca.RejectUser, byRule: eca.RejectConfig, byStop: eca.RejectStop},
		Doc000: {byUser: eca.RejectUser000, byRule: eca.RejectConfig000, byStop: eca.RejectUser000},
		Doc001: {byUser: eca.RejectAnybody001, byRule: eca.RejectAnybody001, byStop: eca.RejectAnybody001},
	}
	return words[d][r]
}

// earlyBegin is the beginning of a turn in the order of the early documents.
func earlyBegin(dst []byte, v *View, e core.TurnStarted) []byte {
	dst = v.running(dst, waitingText)
	return v.userText(dst, e.Message, e.Prompt)
}
