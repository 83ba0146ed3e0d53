package mcp

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
)

// Names that occur both in our transcription and in the library are equal.
func TestNamesAreTheLibrarys(t *testing.T) {
	for ours, library := range map[string]string{
		proto.MetaVersion: mcp.MetaKeyProtocolVersion, proto.MetaClient: mcp.MetaKeyClientInfo, proto.MetaServer: mcp.MetaKeyServerInfo,
		proto.MetaCapabilities: mcp.MetaKeyClientCapabilities, proto.MetaSubscription: mcp.MetaKeySubscriptionID,
	} {
		if ours != library {
			t.Errorf("ours is %s, the library's %s", ours, library)
		}
	}
	for ours, library := range map[int]int{
		proto.CodeHeaderMismatch: mcp.CodeHeaderMismatch, proto.CodeMissingCapability: mcp.CodeMissingRequiredClientCapabilities,
		proto.CodeUnsupportedVersion: mcp.CodeUnsupportedProtocolVersion,
	} {
		if ours != library {
			t.Errorf("ours is %d, the library's %d", ours, library)
		}
	}
}
