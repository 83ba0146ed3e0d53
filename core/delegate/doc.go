// Package delegate runs the tasks that an agent delegates to another one.
//
// # What holds
//
//   - A task runs in a sub-session, which is a session like any other. It has its
//     parent's settings, editor and connection, and cannot delegate tasks itself.
//   - Its open asks are also put to the parent's user, and withdrawn when they are
//     settled in the sub-session. The answer is recorded there as that of the client
//     that gave it (package asks).
//   - When the task is stopped its turn ends as cancelled, and Run returns after that
//     end.
package delegate
