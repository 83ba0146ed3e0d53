// Package demo plays all three protocols and shows side by side what an editor gets to see.
//
// # What holds
//
//   - Each act is this very program, started as a child and spoken to over real pipes. Nothing is
//     played but the person, the editor and the model.
//   - A child gets a home of its own and nothing of our environment but where programs are found: no
//     key, no configuration, no sessions.
//   - Everything happens in one folder, which is removed at the end; every act has ended by then.
package demo
