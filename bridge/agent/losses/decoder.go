// Package losses lists what agents that speak ACP do not tell, or tell in another way.
package losses

import "dragoman/core/fidelity"

// Decoder lists the facts that no update of an agent becomes, or not as they were.
func Decoder() []fidelity.Loss {
	return []fidelity.Loss{}
}
