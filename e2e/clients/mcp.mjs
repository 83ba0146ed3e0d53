// Drives an MCP server over stdio with version 1 of the TypeScript SDK, which ends at protocol version 2025-11-25.
// Steps, flags and what is printed: mcpsteps.mjs and driver.mjs.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { run } from './driver.mjs';
import { capabilities, connected, elicitor, leave, mcpFlags, server, steps, tap } from './mcpsteps.mjs';

const options = mcpFlags();

run(options, async () => {
  const offered = capabilities(options);
  const client = new Client({ name: 'dragoman-e2e', version: '1.0.0' }, { capabilities: offered });
  if (offered.elicitation) client.setRequestHandler(ElicitRequestSchema, elicitor(options));
  const transport = new StdioClientTransport(server(options));
  const tapped = tap(transport, options);
  transport.setProtocolVersion = (version) => (tapped.version = version);
  await client.connect(transport);
  connected(client, tapped.version, '2025-11-25');
  await steps(client, options, (name, args, request) => client.callTool({ name, arguments: args }, undefined, request));
  await leave(client, tapped);
});
