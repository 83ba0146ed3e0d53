// Drives an ACP agent with the official TypeScript SDK, and looks at the raw lines too, since the SDK hides unknown fields and nulls.
//
// Steps, done in the order given:
//   --prompt TEXT     prompt the session; a first one is made when there is none
//   --new             make a session (further prompts go there)
//   --load ID         load a session
//   --list            list sessions
//   --request METHOD JSON   any request; "$session" in JSON is the current session's id
// Flags:
//   --parallel             each prompt in a session of its own, all at once, after the other steps
//   --permission POLICY    allow_once, allow_always, reject_once, reject_always, cancel or hold (answer only when the turn is cancelled); given
//                          several times: the first question takes the first, and so on, the last one stays
//   --cancel-after-ms MS   cancel each prompt so long after it was sent
//   --cancel-on TEXT       cancel all running prompts once, when an incoming message holds TEXT
// Kinds printed besides those of driver.mjs: initialized, session, loaded, list, result, prompt, update, permission, withdrawn, cancel, and
// stop (sessionId, stopReason, text: the agent's message, result).
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { PassThrough, Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
import { emit, ended, failed, flags, invalid, lines, meddle, message, run, start, when } from './driver.mjs';

const options = flags({ prompt: 1, new: 0, load: 1, list: 0, request: 2, parallel: 0, permission: 1, 'cancel-after-ms': 1, 'cancel-on': 1 });

run(options, async () => {
  const child = start(options);
  meddle(options, child);
  const check = checker();
  const input = new PassThrough();
  const take = lines((bytes) => {
    const incoming = message(bytes);
    if (incoming) invalid(incoming.line, ...check.incoming(incoming.value));
  });
  child.stdout.on('data', (chunk) => {
    take(chunk);
    input.write(chunk);
  });
  child.stdout.on('end', () => input.end());
  const output = new PassThrough();
  const give = lines((bytes) => {
    emit('raw', { dir: 'out', line: bytes.toString() });
    check.outgoing(JSON.parse(bytes.toString()));
  });
  output.on('data', give);
  output.pipe(child.stdin);

  const editor = face();
  await editor.app.connectWith(ndJsonStream(Writable.toWeb(output), Readable.toWeb(input)), (agent) => editor.steps(agent));
  child.stdin.end();
  await ended(child);
});

/** The editor's side: what it answers, and what it does. */
function face() {
  const policies = options.all('permission');
  const running = new Map(); // session id → what to call on cancel
  const texts = new Map(); // session id → the agent's message so far
  let asked = 0;

  const app = client({ name: 'dragoman-e2e' })
    .onNotification(methods.client.session.update, ({ params: { sessionId, update } }) => {
      if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text') {
        texts.set(sessionId, (texts.get(sessionId) ?? '') + update.content.text);
      }
      emit('update', { sessionId, update });
    })
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      const policy = policies[Math.min(asked++, policies.length - 1)] ?? 'allow_once';
      const outcome = await decide(params, policy, signal);
      emit('permission', { sessionId: params.sessionId, toolCall: params.toolCall, options: params.options, policy, outcome });
      return { outcome };
    });

  async function decide(params, policy, signal) {
    const cancelled = { outcome: 'cancelled' };
    if (policy === 'cancel') return cancelled;
    if (policy === 'hold') {
      await new Promise((release) => {
        running.get(params.sessionId)?.push(release);
        signal.addEventListener('abort', () => {
          emit('withdrawn', { sessionId: params.sessionId, toolCall: params.toolCall });
          release();
        });
      });
      return cancelled;
    }
    const option = params.options.find(({ kind }) => kind === policy);
    if (!option) failed('permission', `no option of kind ${policy} is offered`);
    return option ? { outcome: 'selected', optionId: option.optionId } : cancelled;
  }

  async function steps(agent) {
    // One request, its answer printed; undefined when it was an error.
    const ask = async (kind, method, params) => {
      try {
        const result = (await agent.request(method, params)) ?? {};
        emit(kind, { sessionId: result.sessionId ?? params.sessionId, result });
        return result;
      } catch (error) {
        failed(method, error);
        return undefined;
      }
    };
    const cancel = async (sessionId) => {
      const held = running.get(sessionId);
      if (!held) return;
      emit('cancel', { sessionId });
      await agent.notify(methods.agent.session.cancel, { sessionId });
      held.forEach((release) => release());
    };
    when(options['cancel-on'], () => [...running.keys()].forEach(cancel));
    const create = async () => (await ask('session', methods.agent.session.new, { cwd: options.cwd, mcpServers: [] }))?.sessionId;

    const prompt = async (sessionId, text) => {
      running.set(sessionId, []);
      texts.delete(sessionId);
      emit('prompt', { sessionId, text });
      const answer = agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
      const timer = options['cancel-after-ms'] && setTimeout(() => cancel(sessionId), Number(options['cancel-after-ms']));
      try {
        const result = await answer;
        emit('stop', { sessionId, stopReason: result.stopReason, text: texts.get(sessionId) ?? '', result });
      } catch (error) {
        failed(methods.agent.session.prompt, error);
      }
      clearTimeout(timer);
      running.delete(sessionId);
    };

    await ask('initialized', methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: 'dragoman-e2e', version: '1.0.0' },
    });
    let session;
    for (const { name, values } of options.steps) {
      if (name === 'list') await ask('list', methods.agent.session.list, {});
      if (name === 'new') session = await create();
      if (name === 'load') session = (await ask('loaded', methods.agent.session.load, { sessionId: values[0], cwd: options.cwd, mcpServers: [] })) && values[0];
      if (name === 'request') await ask('result', values[0], JSON.parse(values[1].replaceAll('$session', session ?? '')));
      if (name === 'prompt' && !options.parallel) {
        session ??= await create();
        if (session) await prompt(session, values[0]);
      }
    }
    if (options.parallel) {
      await Promise.all(
        options.all('prompt').map(async (text) => {
          const own = await create();
          if (own) await prompt(own, text);
        }),
      );
    }
  }
  return { app, steps };
}

/** Checks each incoming message against the protocol's JSON schema, and the order that real editors rely on. */
function checker() {
  const sdk = import.meta.resolve('@agentclientprotocol/sdk/schema/v1/schema.json');
  const schema = JSON.parse(readFileSync(fileURLToPath(sdk), 'utf8'));
  // The MCP SDK brings ajv along.
  const require = createRequire(import.meta.resolve('@modelcontextprotocol/sdk/validation/ajv'));
  const Ajv = require('ajv/dist/2020').default;
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema(schema, 'acp');
  const find = (suffix, side, method) =>
    Object.entries(schema.$defs).find(([name, def]) => name.endsWith(suffix) && def['x-side'] === side && def['x-method'] === method)?.[0];
  const against = (name, value) => {
    const check = ajv.getSchema(`acp#/$defs/${name}`);
    if (check(value)) return [];
    // A union reports every branch. The update's tag says which is meant; elsewhere what it says of other tags is noise, and of the rest the
    // deepest places say most.
    const branch = schema.$defs.SessionUpdate.oneOf.findIndex(({ properties }) => properties.sessionUpdate.const === value.update?.sessionUpdate);
    if (name === 'SessionNotification' && value.update) {
      return branch < 0 ? [`${value.update.sessionUpdate} is no kind of update`] : against(`SessionUpdate/oneOf/${branch}`, value.update);
    }
    const mine = check.errors.filter(({ keyword, instancePath }) => !(keyword === 'const' && /\/(type|mode)$/.test(instancePath)));
    const errors = mine.some(({ keyword }) => keyword !== 'oneOf' && keyword !== 'anyOf') ? mine : check.errors;
    const deepest = Math.max(...errors.map(({ instancePath }) => instancePath.split('/').length));
    const said = errors.filter(({ instancePath }) => instancePath.split('/').length === deepest);
    return [...new Set(said.map(({ instancePath, message: text }) => `${name.split('/')[0]}${instancePath} ${text}`))];
  };

  const asked = new Map(); // id → {method, params}
  const known = new Set(); // session ids whose updates an editor takes
  const calls = new Map(); // session id → Map(tool call id → status)
  const callsOf = (id) => calls.get(id) ?? calls.set(id, new Map()).get(id);

  function request({ method, params }) {
    if (method.startsWith('_') || method.startsWith('$/')) return [];
    const name = find('Request', 'client', method) ?? find('Notification', 'client', method);
    if (!name) return [`${method} is no method of an editor`];
    return [...against(name, params ?? {}), ...order(method, params ?? {})];
  }

  function order(method, { sessionId, update, toolCall }) {
    const problems = [];
    if (sessionId !== undefined && !known.has(sessionId)) problems.push(`${method} for a session the editor does not know yet`);
    const id = update?.toolCallId ?? toolCall?.toolCallId;
    if (id === undefined) return problems;
    const open = callsOf(sessionId);
    if (update?.sessionUpdate === 'tool_call') open.set(id, 'pending');
    else if (!open.has(id)) problems.push(`${method} for tool call ${id} before its tool_call`);
    const status = update?.status ?? toolCall?.status;
    if (status) open.set(id, status);
    return problems;
  }

  function answer({ id, result, error }) {
    const question = asked.get(id);
    if (!question) return error && id === null ? [] : ['an answer to no question'];
    asked.delete(id);
    const { method, params } = question;
    if (error) return against('Error', error);
    if (method === 'session/new' && result?.sessionId) known.add(result.sessionId);
    const problems = [];
    if (method === 'session/prompt') {
      for (const [call, status] of callsOf(params.sessionId)) {
        if (status !== 'completed' && status !== 'failed') problems.push(`the turn ended while tool call ${call} was ${status}`);
      }
    }
    const name = find('Response', 'agent', method);
    return name ? [...problems, ...against(name, result)] : problems;
  }

  return {
    outgoing(sent) {
      if (sent.method === undefined || sent.id === undefined) return;
      asked.set(sent.id, sent);
      if (sent.method === 'session/load' || sent.method === 'session/resume') known.add(sent.params.sessionId);
    },
    incoming: (got) => (typeof got.method === 'string' ? request(got) : answer(got)),
  };
}
