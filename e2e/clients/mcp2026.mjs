// Drives an MCP server over stdio with version 2 of the TypeScript SDK, at protocol version 2026-07-28: no initialize, questions come back as
// results (input_required) which the SDK answers by calling again.
// Steps, flags and what is printed: mcpsteps.mjs and driver.mjs. One flag more:
//   --mode auto|pin|legacy   how the version is found: by a probe on a short-lived second process (default), by insisting on 2026-07-28, or
//                            without asking, which gives 2025-11-25
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { run } from './driver.mjs';
import { capabilities, connected, elicitor, leave, mcpFlags, server, steps, tap } from './mcpsteps.mjs';

const options = mcpFlags({ mode: 1 });
const mode = options.mode ?? 'auto';

run(options, async () => {
  const offered = capabilities(options);
  const negotiation = { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode };
  const client = new Client({ name: 'dragoman-e2e', version: '1.0.0' }, { capabilities: offered, versionNegotiation: negotiation });
  if (offered.elicitation) client.setRequestHandler('elicitation/create', elicitor(options));
  const transport = new StdioClientTransport(server(options));
  const tapped = tap(transport, options);
  await client.connect(transport);
  connected(client, client.getNegotiatedProtocolVersion(), mode === 'legacy' ? '2025-11-25' : '2026-07-28');
  await steps(client, options, (name, args, request) => client.callTool({ name, arguments: args }, request));
  await leave(client, tapped);
});
