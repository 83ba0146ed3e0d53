// Package demo plays all three protocols, in front of the built-in agent and of an external one, and
// shows side by side the messages that an editor sees.
//
// # What holds
//
//   - Each act is this program, started as a child and used over real pipes. Only the person,
//     the editor and the model are simulated.
//   - A child gets a home of its own and only PATH and the like from our environment: no key,
//     no configuration, no sessions.
//   - Everything happens in one folder, which is removed at the end; every act has ended by then.
package demo
