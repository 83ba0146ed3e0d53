// Package guide is what the workspace and the user tell the agent: AGENTS.md and
// CLAUDE.md, rules, skills, commands and agents, as text. Nothing of it is
// executed, so it may be read before the workspace is trusted.
//
// # Vocabulary
//
// A [Guide] is a snapshot of all of it. Instructions ([Part]) are what AGENTS.md
// and CLAUDE.md say, and what they include with @. A [Rule] always applies, or is
// listed and fetched for certain files. A [Skill] is listed by name and
// description and read when it is needed. A [Command] is what a user types behind
// a slash: built in (Options.BuiltIn), a file's, or a skill's. An [Agent] is a file's proposal of
// one. Front matter is the lines between two "---" at the beginning of a file.
//
// An area is a folder inside of which files may be read; a place is a way from
// there. The areas are the workspace folders, the repository around each, the
// user's configuration directories, and for skills the home folder. A look is what
// was seen of a place: whether it is there, its time and its size.
//
// # Where it comes from
//
//   - Instructions: AGENTS.md and CLAUDE.md of each workspace folder, of the
//     folders above it up to the one that holds its repository, and of each
//     configuration directory; and, for a file that a tool has used, of the folders
//     between: they join the conversation when they are first needed.
//   - Rules, commands, agents: rules/, commands/ and agents/ below .dragoman and
//     .eca in the workspace and below each configuration directory.
//   - Skills: skills/*/SKILL.md at the same places, and below .agents and .claude
//     in the workspace and in the home folder.
//
// Of several things of one name the first counts: built in before the workspace's
// before the user's, .dragoman before .eca before .agents before .claude. The
// others are warned of.
//
// # What always holds
//
//   - Files are reached through the files.Tree of their area only: links inside of
//     it are followed, and one that leads out of it is refused. Only regular files
//     are read, and nothing waits for a pipe. A file that was replaced between
//     looking and opening costs a warning; the next look finds the new one.
//   - Whatever is read is bounded: 64 KiB a file, 256 KiB of instructions and of
//     rules that always apply, 16 MiB and 4,000 names a Load, and so on; see
//     area.go. What is cut or left out is warned of.
//   - A file that is missing, unreadable or wrong costs that file and a warning,
//     never the guide.
//   - @ includes no hidden files, where programs keep keys, nothing outside of the
//     area of the file that it stands in (for the workspace's files: outside of
//     its folders), and nothing that Options.Refuse forbids.
//   - The same files give the same text, byte for byte, on every Load: services
//     can cache a prompt that begins with it.
//   - A text in the system prompt stands between tags that name its file and that
//     nothing in it can end. Characters that a person does not see, but a model
//     does, are spelled out in texts and names.
//   - What a guide says approves nothing. The workspace's agents in particular are
//     proposals: whoever makes agents of them gives them no rights.
//
// # Locks and goroutines
//
// There are neither. A Guide does not change and holds no file open; methods that
// need a file's text (Expand, Skill, RuleText, InstructionsFor) read it when they
// are called, within the same bounds.
//
// # Why
//
// No watcher: they differ between systems, run out, and miss what happens on
// network drives. Changed compares times and sizes of what Load looked at, some
// fifty of them, in less than a millisecond; callers ask once, before a turn, and use the
// same Guide until the turn has ended.
//
// Front matter is read by a parser of our own for a small part of YAML. The YAML
// library that the configuration uses takes quadratic time on hostile input and
// follows aliases; and much front matter that works elsewhere is not YAML:
// "globs: *.ts" is an alias, "description: Use it when: …" is an error. Here every
// scalar is text, and there is nothing that could grow.
//
// The folders above a workspace folder count only within its repository: what
// happens to lie in /tmp or in the home folder says nothing of this project. Home
// itself is left out even when it is a repository, as those of dot files are.
//
// The workspace's command hides the user's of the same name, since it is about
// this project, and hidden ones are warned of. A built-in name cannot be taken: a
// repository must not decide what /login does.
//
// Globs are translated into regular expressions, whose time is linear, with the
// union of what is usual for "**": across folders, and none at all. A rule that is
// fetched once too often costs less than one that was missed.
package guide
