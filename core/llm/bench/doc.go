// Package bench measures core/llm beside the services' own libraries and langchaingo,
// on the same streams from memory. It is a module of its own, so that none of these
// becomes a dependency of the program:
//
//	cd core/llm/bench && go test -bench . -benchmem
package bench
