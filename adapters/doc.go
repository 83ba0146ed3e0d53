// Package adapters is the folder of the faces: one package for each protocol that
// is served (eca, acp, mcp, and thread, which ACP was in June 2025), what they share
// (wire: bytes and envelopes, pump: the order of answers and updates, clients: what
// is known of each client by its name), and the transcriptions of the protocols (proto).
//
// It holds no code, only the test that shows one event log in every dialect, side
// by side (testdata/rosetta).
package adapters
