// Goes through everything that dragoman offers over MCP, with either version of the TypeScript SDK, over standard input and output or over HTTP.
//
//   node mcp_all.mjs --sdk 1|2 [--mode auto|pin] [--url URL --token TOKEN] [--resume SESSION] [--cwd DIR] [-- SERVER [ARG…]]
//
// Version 1 ends at protocol version 2025-11-25; version 2 finds 2026-07-28 by asking (auto) or insists on it (pin). It prints one JSON object
// per line: {fact, value}, {error}, and last {end, ok}. What the facts should be is the test's affair. With --resume the story is another one: a
// session that an earlier process has left is gone on with. The user who is asked for an approval answers what `user` holds.
import { parseArgs } from 'node:util';

const { values: flag, positionals: command } = parseArgs({
  allowPositionals: true,
  options: Object.fromEntries(['sdk', 'mode', 'url', 'token', 'resume', 'cwd'].map((name) => [name, { type: 'string' }])),
});
const modern = flag.sdk === '2';
const print = (line) => process.stdout.write(JSON.stringify(line) + '\n');
const fact = (name, value) => print({ fact: name, value });

const api = modern
  ? { ...(await import('@modelcontextprotocol/client')), ...(await import('@modelcontextprotocol/client/stdio')) }
  : {
      ...(await import('@modelcontextprotocol/sdk/client/index.js')),
      ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
      ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
      ...(await import('@modelcontextprotocol/sdk/types.js')),
    };

function transport() {
  if (flag.url) return new api.StreamableHTTPClientTransport(new URL(flag.url), { requestInit: { headers: { Authorization: `Bearer ${flag.token}` } } });
  const [server, ...args] = command;
  return new api.StdioClientTransport({ command: server, args, cwd: flag.cwd, env: process.env, stderr: 'inherit' });
}

/** A client, with what its user answers and what it hears. */
async function connect(name) {
  const options = { capabilities: { elicitation: { form: {} } } };
  if (modern) options.versionNegotiation = { mode: flag.mode === 'pin' ? { pin: '2026-07-28' } : 'auto' };
  const client = new api.Client({ name, version: '1.0.0' }, options);
  const heard = { questions: [], updates: [], logs: [], progress: 0, version: undefined };
  const me = { client, heard, user: () => ({ action: 'accept', content: { decision: 'allow_once' } }) };
  const ask = async ({ params }) => {
    if (params.message.includes('silent')) return new Promise((answer) => me.silent(answer));
    heard.questions.push(params.message);
    return me.user(params);
  };
  const on = (method, schema, handler) => (modern ? client.setNotificationHandler(method, handler) : client.setNotificationHandler(schema, handler));
  if (modern) client.setRequestHandler('elicitation/create', ask);
  else client.setRequestHandler(api.ElicitRequestSchema, ask);
  on('notifications/resources/updated', api.ResourceUpdatedNotificationSchema, ({ params }) => void heard.updates.push(params.uri));
  on('notifications/message', api.LoggingMessageNotificationSchema, ({ params }) => void heard.logs.push(params));
  const over = transport();
  if (!modern) over.setProtocolVersion = ((set) => (version) => ((heard.version = version), set?.call(over, version)))(over.setProtocolVersion);
  await client.connect(over);
  me.over = over;
  me.version = modern ? client.getNegotiatedProtocolVersion() : heard.version;
  me.call = (tool, args, request = {}) => {
    const more = { timeout: 60000, ...request };
    return modern ? client.callTool({ name: tool, arguments: args, _meta: request.meta }, more) : client.callTool({ name: tool, arguments: args }, undefined, more);
  };
  me.prompt = async (prompt, args = {}, request) => (await me.call('agent_prompt', { prompt, ...args }, request)).structuredContent;
  me.wait = async (args) => (await me.call('agent_wait', { wait_seconds: 30, ...args })).structuredContent;
  return me;
}

/** Looks again and again, with so many milliseconds between, for at most a minute. */
async function eventually(look, every = 50) {
  for (const end = Date.now() + 60000; Date.now() < end; await new Promise((done) => setTimeout(done, every))) {
    const found = await look();
    if (found) return found;
  }
  return undefined;
}

const brief = ({ status, text, tool_calls }) => ({ status, text: text.slice(0, 200), calls: (tool_calls ?? []).map((c) => `${c.name} ${c.status}: ${c.summary}`) });

async function story() {
  const me = await connect('dragoman-e2e');
  const { client, heard } = me;
  fact('version', me.version);
  fact('tools', (await client.listTools()).tools.map((t) => t.name));

  const first = await me.prompt('read notes.txt');
  fact('prompt', brief(first));
  const session_id = first.session_id;
  fact('session', session_id);

  // Nobody answers this one: the server says no by itself, while the rest goes on.
  let late;
  me.silent = (answer) => (late = answer);
  const silent = me.prompt('run rm silent.txt').then(brief, (error) => ({ gaveUp: String(error) }));
  await eventually(() => late);

  let last = 0;
  let grows = true;
  const onprogress = ({ progress, message }) => {
    if (message?.startsWith('Fulfilling input')) return; // the SDK's own, of its rounds
    grows &&= progress > last;
    last = progress;
    heard.progress++;
  };
  fact('accepted', brief(await me.prompt('run sleep 1; echo approved', { session_id }, { onprogress })));
  fact('progress', { some: heard.progress > 0, grows });
  me.user = () => ({ action: 'decline' });
  fact('declined', brief(await me.prompt('run rm notes.txt', { session_id })));
  me.user = () => ({ action: 'cancel' });
  const dismissed = await me.prompt('run rm notes.txt', { session_id });
  fact('dismissed by the user', brief(dismissed));
  const [{ approval_id }] = dismissed.pending_approvals;
  await me.call('agent_approve', { session_id, approval_id, decision: 'reject_once' });
  fact('rejected then', brief(await me.wait({ session_id })));
  fact('questions', heard.questions.map((q) => q.split('\n')[0]));

  const stop = new AbortController();
  const other = (await me.prompt('hello')).session_id;
  const endless = me.prompt('stream 100000000', { session_id: other }, { signal: stop.signal, onprogress: () => stop.abort('no longer wanted') }).catch(() => 'cancelled');
  fact('cancel', await endless);
  fact('after the cancel', (await me.wait({ session_id: other })).status);
  const started = await me.prompt('stream 100000000', { session_id: other, wait_seconds: 0 });
  fact('begun', started.status);
  await me.call('agent_cancel', { session_id: other });
  fact('agent_cancel', (await me.wait({ session_id: other, turn_id: started.turn_id })).status);

  const later = await me.prompt('stream 3000 of 7', { session_id, wait_seconds: 0 });
  fact('wait', brief(await me.wait({ session_id, turn_id: later.turn_id })).status);

  const uri = `dragoman://session/${session_id}/transcript`;
  fact('resources', (await client.listResources()).resources.map((r) => r.uri).includes(uri));
  fact('templates', (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate));
  fact('transcript', (await client.readResource({ uri })).contents[0].text.includes('first note'));
  const ear = modern ? await client.listen({ resourceSubscriptions: [uri] }) : await client.subscribeResource({ uri });
  await me.prompt('say so', { session_id });
  fact('updated', await eventually(() => heard.updates.includes(uri)));
  await (modern ? ear.close() : client.unsubscribeResource({ uri }));

  const ref = { type: 'ref/resource', uri: 'dragoman://session/{id}' };
  fact('completion', (await client.complete({ ref, argument: { name: 'id', value: session_id.slice(0, 4) } })).completion.values.includes(session_id));
  const prompts = (await client.listPrompts()).prompts.map((p) => p.name);
  fact('prompts', prompts);
  fact('a prompt', (await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })).messages[0].content.text);

  const request = modern ? { meta: { 'io.modelcontextprotocol/logLevel': 'info' } } : {};
  if (!modern) await client.setLoggingLevel('info');
  await me.prompt('read notes.txt', { session_id }, request);
  fact('logged', heard.logs.some(({ data }) => data?.name === 'read_file'));

  if (flag.url) await two(me, session_id);

  const unheard = (await me.call('session_list', {})).structuredContent.sessions.find(({ title }) => title.includes('silent')).session_id;
  const settled = async () => {
    const found = await me.wait({ session_id: unheard, wait_seconds: 0 }); // which asks nobody
    return found.status === 'completed' && found;
  };
  fact('never answered', brief(await eventually(settled, 500)));
  late({ action: 'accept', content: { decision: 'allow_once' } }); // too late
  await silent;
  await me.over.terminateSession?.();
  await client.close();
}

/** Two clients at once: what one causes does not reach the other. */
async function two(me, session_id) {
  const other = await connect('dragoman-e2e');
  const [asked, logged] = [me.heard.questions.length, me.heard.logs.length];
  const progress = me.heard.progress;
  if (!modern) await other.client.setLoggingLevel('info');
  const request = { onprogress: () => other.heard.progress++, ...(modern && { meta: { 'io.modelcontextprotocol/logLevel': 'info' } }) };
  fact('the other', brief(await other.prompt('run echo other', {}, request)));
  fact('the other heard', { questions: other.heard.questions.length, logs: other.heard.logs.length > 0, progress: other.heard.progress > 0 });
  fact('we heard', { questions: me.heard.questions.length - asked, logs: me.heard.logs.length - logged, progress: me.heard.progress - progress });
  fact('both see it', (await me.call('session_list', {})).structuredContent.sessions.some((s) => s.session_id === session_id));
  await other.over.terminateSession?.();
  await other.client.close();
}

async function again() {
  const me = await connect('dragoman-e2e');
  const session_id = flag.resume;
  fact('listed', (await me.call('session_list', {})).structuredContent.sessions.some((s) => s.session_id === session_id));
  fact('kept', JSON.stringify((await me.call('session_get', { session_id, limit: 500 })).structuredContent.entries).includes('first note'));
  fact('resumed', brief(await me.prompt('read notes.txt', { session_id })));
  fact('the newest turn', (await me.wait({ session_id })).status);
  await me.over.terminateSession?.();
  await me.client.close();
}

const limit = setTimeout(() => {
  print({ end: 'timeout', ok: false });
  process.exit(1);
}, 110000);
try {
  await (flag.resume ? again() : story());
  print({ end: 'done', ok: true });
} catch (error) {
  print({ error: String(error?.stack ?? error), data: error?.data });
  print({ end: 'error', ok: false });
  process.exitCode = 1;
}
clearTimeout(limit);
setTimeout(() => process.exit(), 2000).unref();
