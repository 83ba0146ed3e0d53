// Package guide reads the guidance of the workspace and the user for agents: AGENTS.md
// and CLAUDE.md, rules, skills, commands and agents, as text. Nothing of it is
// executed, so it may be read before the workspace is trusted.
//
// # Vocabulary
//
// A [Guide] is a snapshot of all of it. Instructions ([Part]) are the texts of
// AGENTS.md and CLAUDE.md, and of the files that they include with @. A [Rule] always
// applies, or is listed and fetched for certain files. A [Skill] is listed by name and
// description and read when it is needed. A [Command] is invoked by a user with a
// slash: it is built in (Options.BuiltIn), a file's, or a skill's. An [Agent] is a
// file's proposal of an agent. Front matter is the lines between two "---" at the
// beginning of a file.
//
// An area is a folder inside of which files may be read; a place is a path in an area.
// The areas are the workspace folders, the repository around each, the user's
// configuration directories, and for skills the home folder. An observation is the
// state of a place at one time: its existence, its time and its size.
//
// # Sources
//
//   - Instructions: AGENTS.md and CLAUDE.md of each workspace folder, of the folders
//     above it up to the root of its repository, and of each configuration directory;
//     and, for a file that a tool has used, of the folders between: they join the
//     conversation when they are first needed.
//   - Rules, commands, agents: rules/, commands/ and agents/ below .dragoman and .eca
//     in the workspace and below each configuration directory.
//   - Skills: skills/*/SKILL.md in the same places, and below .agents and .claude in
//     the workspace and in the home folder.
//
// If several have the same name, the first wins: built in before the workspace's
// before the user's, .dragoman before .eca before .agents before .claude. There is a
// warning for the others.
//
// # What always holds
//
//   - Files are reached only through the files.Tree of their area: links inside of it
//     are followed, and links that lead out of it are refused. Only regular files are
//     read, and nothing waits for a pipe. A file that was replaced between the check
//     and the opening costs a warning; the next check finds the new one.
//   - All reading is bounded: 64 KiB a file, 256 KiB of instructions and of rules that
//     always apply, 16 MiB and 4,000 names a Load, and so on; see area.go. There is a
//     warning for everything that is cut or left out.
//   - A file that is missing, unreadable or wrong costs that file and a warning, never
//     the guide.
//   - @ includes no hidden files, where programs keep keys, nothing outside of the
//     area of the including file (for the workspace's files: outside of its folders),
//     and nothing that Options.Refuse forbids.
//   - The same files give the same text, byte for byte, on every Load: services can
//     cache a prompt that begins with it.
//   - A text in the system prompt is enclosed in tags with the name of its file, which
//     nothing in the text can end. Characters that are invisible to a person, but not
//     to a model, are spelled out in texts and names.
//   - A guide approves nothing. The workspace's agents in particular are proposals:
//     those who use them must give them no rights.
//
// # Locks and goroutines
//
// There are neither. A Guide does not change and holds no file open; methods that need
// a file's text (Expand, Skill, RuleText, InstructionsFor) read it when they are
// called, within the same limits.
//
// # Why
//
// No watcher: watchers differ between systems, run out, and miss changes on network
// drives. Changed compares times and sizes of the places that Load has visited, some
// fifty of them, in less than a millisecond; callers ask once, before a turn, and use
// the same Guide until the turn has ended.
//
// Front matter is read by a parser of our own for a small part of YAML. The YAML
// library that the configuration uses takes quadratic time on hostile input and
// follows aliases; and much front matter that works elsewhere is not YAML: "globs:
// *.ts" is an alias, "description: Use it when: …" is an error. Here every scalar is
// text, and nothing can grow.
//
// The folders above a workspace folder count only within its repository: files that
// happen to be in /tmp or in the home folder do not concern this project. The home
// folder itself is left out even if it is a repository, like those of dot files.
//
// The workspace's command hides the user's of the same name, because it is about this
// project, and there is a warning. A built-in name cannot be taken: a repository must
// not change the effect of /login.
//
// Globs are translated into regular expressions, whose time is linear, with the union
// of the usual meanings of "**": across folders, and no folder at all. A rule that is
// fetched unnecessarily costs less than one that is missed.
package guide
