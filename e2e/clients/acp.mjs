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
import { PassThrough, Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
import { checker } from './acpcheck.mjs';
import { emit, ended, failed, flags, invalid, lines, meddle, message, run, start, when } from './driver.mjs';

const options = flags({ prompt: 1, new: 0, load: 1, list: 0, request: 2, parallel: 0, permission: 1, 'cancel-after-ms': 1, 'cancel-on': 1 });

run(options, async () => {
  const child = start(options);
  meddle(options, child);
  const check = checker();
  const input = new PassThrough();
  const take = lines((bytes) => {
    const incoming = message(bytes);
    if (incoming) invalid(incoming.line, ...check.incoming(incoming.value, incoming.line));
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
