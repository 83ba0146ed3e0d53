// Package translate prints what is lost where a conversation passes from one protocol to another, and a
// stored session as the messages of a protocol.
//
// # What holds
//
//   - The table is made from the lists of the encoders and decoders (packages losses) alone.
//   - Nothing is run, and no server or agent is started.
package translate
