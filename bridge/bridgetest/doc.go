// Package bridgetest has the servers and clients with which the packages of the bridge are
// tested. It imports none of them, since their own tests import it.
package bridgetest
