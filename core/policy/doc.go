// Package policy decides who must be asked before a tool call has its effect.
//
// A Policy is a pure function: it looks at a core.Check and at the rules it was
// made with, never at the disk, the environment or the clock. It starts nothing
// and locks nothing.
//
// # Vocabulary
//
// A rule is data: an effect, and patterns for the tool, its server and the things that the
// call touches. A hard ask is a question that only a person may answer: neither
// an allow rule, nor an earlier answer, nor trust replaces it. A scope is the set of calls
// that "for this session" would cover; its key is compared, its text is shown, and both
// come from the same facts. A control file decides what runs later without another
// question, or instructs agents: our own configuration and those of other agents,
// AGENTS.md, git hooks, start-up files of shells, task files of editors.
//
// A role limits one agent in addition to the rules: its tools, whether it is read-only, and
// who may delegate tasks to it. [Rights] narrow a policy for each role.
//
// # Order
//
// The first that applies wins:
//
//  1. deny rules
//  2. limits of the turn's origin (core.Approvals)
//  3. rejections remembered for the session
//  4. hard asks: control files, command lines that cannot be judged, ask rules
//  5. allow rules
//  6. allowances remembered for the session, from those whose answers count in the turn
//  7. trust, in turns that a person prompted
//  8. the default: reading inside the workspace is allowed, the rest asks. These
//     ask as well: a place where programs keep keys (files.KeepsKeys), wherever it is;
//     reading in a workspace that is the user's home folder or contains it; and reading a
//     file that has other names (hard links), which may be outside.
//
// Rights never allow more than the rules. A read-only agent delegates tasks only to other
// read-only agents, an agent that comes with the workspace asks about everything that has an
// effect, and a task gets no more rights than the agent that delegated it.
//
// # Shell commands
//
// A command line is read with a real shell grammar. Deny and ask rules look
// everywhere (substitutions, functions, what env or sh -c would start) and match
// generously; allow rules look only at lines made of plain words joined by
// && || | ; and give up at everything else. A line that the grammar cannot
// read, that is too long, or that has more than fifty commands is never allowed without
// a person. Nor is a line with more than eight braces in one word, or with wildcards that
// take too many steps to compare with the rules, so the cost of a line does not grow with
// the number of words its braces expand to. A word with wildcards that the shell may expand
// to a path of a deny or ask rule needs a person's answer. The policy cannot see what a
// program does with its arguments: rules on commands prevent accidents and are not a sandbox.
//
// # Why
//
// Every list of "safe commands" that matched prefixes of the text was broken by
// a newline, an ampersand, a redirection or a program that runs another one.
// So remembered answers are narrow: a program with its sub-command if a table
// (harmless.go) names every option of the line, else the exact line. The table lists
// what is harmless, not what is harmful, because the options that run, write, load
// or send something have no common name (-O of git grep, --hostname-bin of rg, the o
// in sort -nrbfo), and programs gain new ones. Patterns are folded before a deny rule
// compares them, since file systems may treat .GIT and .git as one.
package policy
