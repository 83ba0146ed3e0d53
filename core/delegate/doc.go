// Package delegate runs the tasks that an agent hands over to another one.
//
// # What holds
//
//   - A task is done in a sub-session, which is a session like any other. It has its parent's
//     settings, editor and connection, and cannot hand over tasks itself.
//   - What waits for a person there is put to the parent's user, and withdrawn when it is settled
//     in the sub-session. The answer is recorded there as that of the client that gave it.
//   - When the task is stopped its turn ends as cancelled, and Run returns behind that end.
package delegate
