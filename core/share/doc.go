// Package share lets the processes of one user on one machine use a session together: what a client
// does in one of them is carried out by the process that owns the session, and all of them show it.
//
// There is no daemon. A process that owns a session listens on a socket; its address is in the
// session's files, for the others (core.Journal.Owner). A process whose clients have the session open
// keeps one connection to it, a link; to the owner it is a guest. A guest's clients are attached to the
// owner's session like its own (core.Client.Remote), so they can be asked, and their editors are asked
// for files and terminals.
//
// # What holds
//
//   - Events do not cross the socket. The owner says that the log has grown, and the other process reads
//     the log. So it shows nothing that the log does not have, and all processes show the same, in the
//     same order. Without the socket the log is looked at every 100 ms.
//   - Commands cross it, each with a key of its own: one that is sent again, because a connection broke,
//     is carried out once. If the owner has ended meanwhile, the log says whether it was carried out;
//     else whoever owns the session now does that. A command that its client has given up (after 5 s)
//     is not carried out any more.
//   - A client acts in its own name: the owner writes the name, the principal and the caller that the
//     client was attached with, whatever a message says.
//   - A client's turns run with the profiles of its own connection, which the owner makes from their
//     description (Options.Spec). A process with another configuration is refused.
//   - When the owner ends, its guests notice at once. One of them claims the session and closes the turn
//     that ran. The prompts that waited are queued again; those of living clients get them back as
//     their own (core.LocalSession.Adopt), and the others follow after 2 s.
//   - A process that takes nothing holds up nobody: it is told only that there is something new, by a
//     goroutine of its connection.
//
// # Who is admitted
//
// The folder of the sockets and each socket are the user's alone, and the system says which process has
// connected (SO_PEERCRED). One of another user is refused, and one that descends from a gateway: a
// command or an agent that this program has started must not answer for the person who uses it. So is
// one whose ancestors cannot be seen, because it is in another namespace of processes. It must also name
// a key that is in the session's files, which programs in a sandbox cannot read.
//
// # Why
//
// One owner, and not a copy in each process: an approval is given once, a turn runs once, and the order
// is the log's. Links instead of a daemon: nothing has to be started before an editor, and nothing is
// left behind after the last one.
package share
