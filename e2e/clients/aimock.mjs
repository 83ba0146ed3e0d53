// A model served over HTTP: aimock on a free loopback port, with the fixtures of one file.
//
// `node aimock.mjs --fixtures FILE [--latency MS] [--chunk CHARS]` prints {"kind":"listening","url":"http://127.0.0.1:PORT"} and serves until its
// stdin ends, then prints each request it was sent as {"kind":"request","path":…,"status":…,"body":…}. OpenAI-compatible clients use URL/v1 as
// the base URL; any key will do. A request that no fixture matches is answered with 503. While it runs, GET URL/__aimock/journal lists
// what was asked.
//
// FILE is {"fixtures": [{"match": {"userMessage": TEXT}, "response": {"content": TEXT}}, …]}; the first match wins. For a turn with a tool call
// give the later request first: {"match": {"toolCallId": "call_1"}, "response": {"content": TEXT}}, then
// {"match": {"userMessage": TEXT}, "response": {"toolCalls": [{"id": "call_1", "name": NAME, "arguments": {…}}]}}.
// {"match": {"history": TEXT}} wants the text anywhere in the conversation; that is ours, not aimock's.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { LLMock } from '@copilotkit/aimock';

const { values } = parseArgs({ options: { fixtures: { type: 'string' }, latency: { type: 'string' }, chunk: { type: 'string' } } });
const mock = new LLMock({
  port: 0,
  host: '127.0.0.1',
  strict: true,
  logLevel: 'silent',
  latency: Number(values.latency ?? 0),
  chunkSize: Number(values.chunk ?? 20),
});
const { fixtures } = JSON.parse(readFileSync(values.fixtures, 'utf8'));
for (const { match = {}, ...rest } of fixtures) {
  const { history, ...others } = match;
  mock.addFixturesFromJSON([{ match: others, ...rest }]);
  if (history !== undefined) mock.fixtures.at(-1).match.predicate = ({ messages }) => JSON.stringify(messages).includes(history);
}
await mock.start();
const print = (line) => process.stdout.write(JSON.stringify(line) + '\n');
print({ kind: 'listening', url: mock.url });

process.stdin.resume();
process.stdin.on('end', async () => {
  for (const { path, response, body } of mock.getRequests()) print({ kind: 'request', path, status: response.status, body });
  await mock.stop();
});
