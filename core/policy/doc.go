// Package policy decides who must be asked before a tool call has its effect.
//
// A Policy is a pure function of a core.Check, the rules it was made with and where links lead
// ([Options].Resolve and Links). By itself it never looks at the disk, the environment or the clock,
// starts nothing and locks nothing.
//
// # Vocabulary
//
// A rule is data: an effect, and patterns for the tool, its server and what the
// call touches. A hard ask is a question that only a person may answer: neither
// an allow rule, nor an earlier answer, nor trust takes its place. A scope is
// what "for this session" would cover; its key is compared, its text is shown,
// and both come from the same facts. A control file is one that decides what
// runs later without another question, or how agents are instructed: our own
// configuration and those of other agents, AGENTS.md, git hooks, start-up files of
// shells, task files of editors.
//
// A role limits what one agent may do, in addition to the rules: the tools that it is offered,
// whether it only looks, who may hand it tasks. [Rights] narrow a policy for each role.
//
// # Order
//
// The first that applies wins:
//
//  1. deny rules
//  2. what the turn's origin narrows (core.Approvals)
//  3. rejections remembered for the session
//  4. hard asks: control files, command lines that cannot be judged or that hide what a rule of
//     the user's is about, ask rules
//  5. allow rules
//  6. allowances remembered for the session, from those whose answers count in the turn, and
//     those that are kept for good (package kept)
//  7. trust, in turns that a person prompted
//  8. the default: reading inside the workspace is allowed, the rest asks. These
//     ask as well: a place where programs keep keys (files.KeepsKeys), wherever it is;
//     reading in a workspace that is the user's home folder or contains it; and reading a
//     file that has other names (hard links), which may be outside.
//
// Rights never allow what the rules do not. An agent that only looks hands tasks only to
// others that only look, one that the workspace proposes asks for all that has an effect,
// and a task gets no more than the agent that handed it over would get.
//
// # Shell commands
//
// A command line is read with a real shell grammar. Deny and ask rules look
// everywhere (substitutions, functions, what env or sh -c would start) and match
// generously; allow rules look only at lines made of plain words joined by
// && || | ; and give up at everything else. A line that the grammar cannot
// read, is too long, or holds more than fifty commands is never allowed without
// a person. Nor is a line with more than eight braces in one word, or with wildcards that
// take too many steps to compare with the rules, so the cost of a line does not grow with
// the number of words its braces expand to. A word with wildcards that the shell may expand
// to a path of a deny or ask rule is asked about; for a rule of our own, whose folder is known, it
// is denied.
//
// The paths of a line are its words, the parts of them that programs take for paths (--file=PATH,
// -fPATH, @PATH, REV:PATH), in every folder that the line changes to, with their links followed.
// A variable is what the line itself sets it to. Where a rule of the user's is about paths, a word
// that only the shell knows is asked about, and where one is about commands, an interpreter that
// reads a pipe or a text in the line, or gets code in another language as an argument, and a
// command some of whose words are not known. Rules of our own (Rule.Own) do not have that effect, or
// every line with a variable would be asked about.
//
// What a program does with its arguments is out of reach: scripts that are there already, archives,
// patches, recursion into folders, links in folders that a wildcard stands for. Rules on commands are a fence against
// accidents and not a sandbox.
//
// # Connections
//
// [Policy.Reach] judges what a program in a sandbox connects to. Nobody has looked at that, so only
// rules that name an address allow it.
//
// # Tools of MCP servers
//
// What such a tool touches is not known. Each text in its arguments that is a path or an address
// counts for deny and ask rules, and for control files unless the server says that the tool only
// reads. Allow rules do not look at arguments: one for the tool covers the call.
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
