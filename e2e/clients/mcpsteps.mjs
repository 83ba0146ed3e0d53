// What the two MCP drivers share: the steps, with a client and a transport of either SDK.
//
// Steps, done in the order given, after tools/list:
//   --prompt TEXT        call agent_prompt; from the second on in the session of the last result
//   --new                begin another session with the next prompt
//   --call NAME JSON     call any tool; "$session_id", "$turn_id" and "$approval_id" in JSON stand for the last result's
// Flags:
//   --args JSON               more arguments for each agent_prompt
//   --parallel                all prompts at once, each in a session of its own, after the other steps
//   --elicitation POLICY      accept, accept_empty, decline, cancel, hold (answer only when a call is cancelled) or none (default: the capability
//                             is not offered); given several times: the first question takes the first, and so on, the last one stays
//   --elicited JSON           what accept answers, instead of each field's default or first choice
//   --cancel-after-ms MS      cancel each call so long after it was sent
//   --cancel-on TEXT          cancel all running calls once, when an incoming message holds TEXT
// Kinds printed besides those of driver.mjs: connected (version, server, capabilities, instructions), tools, call (name, arguments), progress,
// elicitation (params, policy, answer), notification, cancel (name), cancelled (name), late (message), and result (name, result).
//
// Both SDKs lose a progress notification that they read together with the result behind it, and print it as late; likewise the answer of a
// call that was cancelled, and an answer of ours that it no longer can send. None is the server's fault: look at the raw lines, whose order is checked here.
import { emit, ended, failed, flags, invalid, lines, meddle, message, observe, when } from './driver.mjs';

/** The flags of an MCP driver. */
export const mcpFlags = (own = {}) =>
  flags({ prompt: 1, new: 0, call: 2, args: 1, parallel: 0, elicitation: 1, elicited: 1, 'cancel-after-ms': 1, 'cancel-on': 1, ...own });

/** The client capabilities that the flags ask for. */
export const capabilities = (options) => (policiesOf(options).every((policy) => policy === 'none') ? {} : { elicitation: { form: {} } });

/** What a stdio transport of either SDK needs to start the server. */
export function server(options) {
  const [command, ...args] = options.command;
  return { command, args, cwd: options.cwd, env: process.env, stderr: 'pipe' };
}

const policiesOf = (options) => options.all('elicitation').concat(options.elicitation ? [] : 'none');

/** Prints and checks what goes over an SDK's stdio transport. The result holds the child once it runs. */
export function tap(transport, options) {
  const tapped = { child: undefined, version: undefined };
  const check = checker();
  const take = lines((bytes) => {
    const incoming = message(bytes);
    if (incoming) invalid(incoming.line, ...check.incoming(incoming.value));
  });
  const begin = transport.start.bind(transport);
  transport.start = async () => {
    await begin();
    const child = (tapped.child = transport._process); // neither SDK has a public way to the pipe
    observe(child);
    transport.stderr.resume();
    child.stdout.prependListener('data', take);
    meddle(options, child);
  };
  const send = transport.send.bind(transport);
  transport.send = (sent, ...rest) => {
    emit('raw', { dir: 'out', line: JSON.stringify(sent) });
    check.outgoing(sent);
    return send(sent, ...rest);
  };
  return tapped;
}

/** Each request is answered once, and progress belongs to an open one and grows (Basic, Progress). */
function checker() {
  const open = new Map(); // request id → progress token or undefined
  const seen = new Map(); // progress token of an open request → progress so far
  return {
    outgoing({ id, method, params }) {
      if (method === undefined || id === undefined) return;
      const token = params?._meta?.progressToken;
      open.set(id, token);
      if (token !== undefined) seen.set(token, -Infinity);
    },
    incoming({ id, method, params }) {
      if (method === 'notifications/progress') {
        const { progressToken: token, progress } = params;
        if (!seen.has(token)) return ['progress for no open request'];
        const grows = progress > seen.get(token);
        seen.set(token, progress);
        return grows ? [] : ['progress does not grow'];
      }
      if (method !== undefined) return [];
      if (!open.has(id)) return ['an answer to no question, or a second one'];
      seen.delete(open.get(id));
      open.delete(id);
      return [];
    },
  };
}

const held = []; // what releases the questions that wait for a cancel

/** The handler of elicitation/create. */
export function elicitor(options) {
  const policies = policiesOf(options);
  let asked = 0;
  return async ({ params }) => {
    const policy = policies[Math.min(asked++, policies.length - 1)];
    const answers = {
      accept: () => ({ action: 'accept', content: options.elicited ? JSON.parse(options.elicited) : fill(params.requestedSchema) }),
      accept_empty: () => ({ action: 'accept', content: {} }),
      decline: () => ({ action: 'decline' }),
      cancel: () => ({ action: 'cancel' }),
      hold: () => new Promise((release) => held.push(() => release({ action: 'cancel' }))),
    };
    const answer = answers[policy]();
    emit('elicitation', { params, policy, answer: policy === 'hold' ? null : answer });
    return answer;
  };
}

function fill(schema) {
  const value = (field) => {
    if ('default' in field) return field.default;
    const choices = field.enum ?? field.oneOf?.map((choice) => choice.const);
    if (choices) return choices[0];
    return { boolean: true, integer: field.minimum ?? 1, number: field.minimum ?? 1, array: [] }[field.type] ?? 'yes';
  };
  const required = schema?.required ?? [];
  const fields = Object.entries(schema?.properties ?? {}).filter(([name, field]) => required.includes(name) || 'default' in field);
  return Object.fromEntries(fields.map(([name, field]) => [name, value(field)]));
}

/** Goes through the steps with a connected client. `callTool` takes name, arguments and request options, whatever the SDK's own order is. */
export async function steps(client, options, callTool) {
  const running = new Map(); // AbortController → tool's name
  const cancel = (controller) => {
    emit('cancel', { name: running.get(controller) });
    controller.abort('no longer wanted');
    held.splice(0).forEach((release) => release());
  };
  when(options['cancel-on'], () => [...running.keys()].forEach(cancel));
  client.onerror = (error) => {
    if (/^(Received a (progress notification|response) for an unknown|Failed to send response)/.test(error.message)) emit('late', { message: error.message });
    else failed('client', error);
  };
  client.fallbackNotificationHandler = async ({ method, params }) => emit('notification', { method, params });

  const last = {};
  const call = async (name, args) => {
    const controller = new AbortController();
    running.set(controller, name);
    emit('call', { name, arguments: args });
    const timer = options['cancel-after-ms'] && setTimeout(() => cancel(controller), Number(options['cancel-after-ms']));
    try {
      const result = await callTool(name, args, {
        signal: controller.signal,
        timeout: Number(options.timeout ?? 30000),
        onprogress: (progress) => emit('progress', { name, ...progress }),
      });
      emit('result', { name, result });
      if (result.isError) failed(name, { message: result.content?.map(({ text }) => text).join('\n') });
      const { session_id, turn_id, pending_approvals } = result.structuredContent ?? {};
      Object.assign(last, session_id && { session_id }, turn_id && { turn_id }, pending_approvals?.[0] && { approval_id: pending_approvals[0].approval_id });
    } catch (error) {
      if (controller.signal.aborted) emit('cancelled', { name });
      else failed(name, error);
    } finally {
      clearTimeout(timer);
      running.delete(controller);
    }
  };

  emit('tools', { tools: (await client.listTools()).tools });
  const more = JSON.parse(options.args ?? '{}');
  for (const { name, values } of options.steps) {
    if (name === 'new') delete last.session_id;
    if (name === 'call') await call(values[0], JSON.parse(values[1].replace(/\$(session_id|turn_id|approval_id)/g, (_, key) => last[key] ?? '')));
    if (name === 'prompt' && !options.parallel) await call('agent_prompt', { prompt: values[0], ...(last.session_id && { session_id: last.session_id }), ...more });
  }
  if (options.parallel) await Promise.all(options.all('prompt').map((prompt) => call('agent_prompt', { prompt, ...more })));
}

/** Prints whom the client is connected to; the version must be the wanted one. */
export function connected(client, version, wanted) {
  emit('connected', { version, server: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions() });
  if (version !== wanted) failed('connect', `protocol version ${version}, wanted ${wanted}`);
}

/** Closes the client; the server must leave by itself. */
export async function leave(client, tapped) {
  const left = ended(tapped.child);
  await client.close();
  await left;
}
