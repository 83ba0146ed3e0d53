// What an ACP client may expect of every message from the agent: the official JSON schema with its unstable parts, closed, so that a member that
// it does not have is a finding; and the order that real editors rely on.
//
// The schema is open by design: a plain validator never reports an unknown member. Here every place where a value stands is closed by
// unevaluatedProperties, which sees through the schema's compositions; what says additionalProperties itself stays as it is, and so does what says
// nothing at all.
//
// Two things are outside of the schema, and told apart: `models` in the answers that open a session, which clients of today still read, and null
// in the place of {} for a client of August 2025, which says no clientInfo.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const maxLine = 64 * 1024; // what a reader on Python's asyncio takes
const opening = new Set(['session/new', 'session/load', 'session/resume', 'session/fork']);
const atAnyTime = new Set([
  'available_commands_update', 'session_info_update', 'current_mode_update', 'config_option_update', 'usage_update', 'notice', 'compaction_update',
]);

/** Closes a schema: no members but those that it names. */
export function closed(schema) {
  const names = new Set(['properties', 'patternProperties', '$defs']);
  const says = (s) => ['$ref', 'type', 'properties', 'allOf', 'anyOf', 'oneOf'].some((word) => word in s);
  const place = (s) => {
    if (typeof s !== 'object' || s === null || Array.isArray(s)) return s;
    const inner = within(s);
    if (!says(s) || 'additionalProperties' in s || 'unevaluatedProperties' in s) return inner;
    return { ...inner, unevaluatedProperties: false };
  };
  // A part of a composition stands at the same place as the whole.
  const within = (s) => {
    const out = {};
    for (const [word, value] of Object.entries(s)) {
      if (word === '$defs') out[word] = Object.fromEntries(Object.entries(value).map(([name, def]) => [name, within(def)]));
      // ajv forgets what it has evaluated beside a discriminator, in all branches but the first; without it the union says the same.
      else if (word === 'discriminator' && 'properties' in s) continue;
      else if (names.has(word)) out[word] = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, place(part)]));
      else if (word === 'items' || word === 'additionalProperties') out[word] = place(value);
      else if (['allOf', 'anyOf', 'oneOf'].includes(word)) out[word] = value.map((part) => (typeof part === 'object' ? within(part) : part));
      else out[word] = value;
    }
    return out;
  };
  return within(schema);
}

/** Checks the messages of one connection, in order. */
export function checker() {
  const path = import.meta.resolve('@agentclientprotocol/sdk/schema/v1/schema.unstable.json');
  const schema = closed(JSON.parse(readFileSync(fileURLToPath(path), 'utf8')));
  // The MCP SDK brings ajv along.
  const require = createRequire(import.meta.resolve('@modelcontextprotocol/sdk/validation/ajv'));
  const Ajv = require('ajv/dist/2020').default;
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, discriminator: true });
  ajv.addSchema(schema, 'acp');
  const find = (suffix, side, method) =>
    Object.entries(schema.$defs).find(([name, def]) => name.endsWith(suffix) && def['x-side'] === side && def['x-method'] === method)?.[0];

  const compiled = new Map();
  const against = (name, value) => {
    if (!compiled.has(name)) compiled.set(name, ajv.compile({ $ref: `acp#/$defs/${name}`, unevaluatedProperties: false }));
    const check = compiled.get(name);
    if (check(value)) return [];
    // A union reports every branch; the deepest places say most.
    const mine = check.errors.filter(({ keyword, instancePath }) => !(keyword === 'const' && /\/(type|mode)$/.test(instancePath)));
    const errors = mine.some(({ keyword }) => keyword !== 'oneOf' && keyword !== 'anyOf') ? mine : check.errors;
    const deepest = Math.max(...errors.map(({ instancePath }) => instancePath.split('/').length));
    const said = errors.filter(({ instancePath }) => instancePath.split('/').length === deepest);
    return [...new Set(said.map(({ instancePath, message: text, params }) => `${name}${instancePath} ${text} ${params.unevaluatedProperty ?? ''}`.trim()))];
  };

  const asked = new Map(); // id → {method, params}, of the client
  const known = new Set(); // session ids whose updates an editor takes
  const loading = new Set(); // sessions whose replay is on its way
  const prompts = new Map(); // session id → how many prompts are open
  const calls = new Map(); // session id → Map(tool call id → status)
  const callsOf = (id) => calls.get(id) ?? calls.set(id, new Map()).get(id);
  const parents = new Map(); // session id of a subagent → session id of its parent
  const turnOf = (id) => parents.get(id) ?? id; // a subagent works in its parent's turn
  let early = false;

  function request({ method, params }, line) {
    if (method.startsWith('_')) return [];
    if (method === '$/cancel_request') return against('CancelRequestNotification', params);
    const name = find('Request', 'client', method) ?? find('Notification', 'client', method);
    if (!name) return [`${method} is no method of an editor`];
    return [...against(name, params ?? {}), ...order(method, params ?? {}), ...short(params ?? {}, line)];
  }

  function order(method, { sessionId, update, toolCall }) {
    const problems = [];
    if (update?.sessionUpdate === 'subagent_update' && update.capabilities) { // announced
      calls.delete(update.sessionId);
      parents.set(update.sessionId, sessionId);
      known.add(update.sessionId);
    }
    if (sessionId !== undefined && !known.has(sessionId)) problems.push(`${method} for a session that the editor does not know`);
    if (update && !atAnyTime.has(update.sessionUpdate) && !loading.has(turnOf(sessionId)) && !prompts.get(turnOf(sessionId))) {
      problems.push(`${update.sessionUpdate} outside of a turn`);
    }
    const id = update?.toolCallId ?? toolCall?.toolCallId;
    if (id === undefined) return problems;
    const open = callsOf(sessionId);
    if (update?.sessionUpdate === 'tool_call') {
      if (open.has(id) && !loading.has(turnOf(sessionId))) problems.push(`tool call ${id} begins twice`);
      open.set(id, 'pending');
    } else if (!open.has(id)) problems.push(`${method} for tool call ${id} before its tool_call`);
    if (toolCall) for (const name of ['title', 'kind', 'status']) if (!toolCall[name]) problems.push(`${method} without the call's ${name}`);
    const status = update?.status ?? toolCall?.status;
    if (status) open.set(id, status);
    return problems;
  }

  // Text is cut or sent in pieces, those of a load being larger; a file, a picture and what a tool was given are not.
  function short({ sessionId, update }, line) {
    const most = loading.has(turnOf(sessionId)) ? 1 << 20 : maxLine;
    if (!update || line === undefined || Buffer.byteLength(line) < most) return [];
    const blocks = [update.content ?? []].flat().map((c) => c.content ?? c);
    return blocks.every(({ type }) => type === 'text') ? [`a line of ${Buffer.byteLength(line)} bytes, all of it text`] : [];
  }

  function answer({ id, result, error }) {
    const question = asked.get(id);
    if (!question) return error && id === null ? [] : ['an answer to no question'];
    asked.delete(id);
    const { method, params } = question;
    const session = params?.sessionId;
    if (method === 'session/load') loading.delete(session);
    const problems = [];
    if (method === 'session/prompt') {
      prompts.set(session, prompts.get(session) - 1);
      for (const [call, status] of callsOf(session)) {
        if (status !== 'completed' && status !== 'failed') problems.push(`the turn ended while tool call ${call} was ${status}`);
      }
    }
    if (error) return [...problems, ...against('Error', error)];
    if ((method === 'session/new' || method === 'session/fork') && result?.sessionId) known.add(result.sessionId);
    if (method === 'session/close' || method === 'session/delete') known.delete(session);
    if (early && result === null && ['authenticate', 'session/load'].includes(method)) return problems;
    let rest = result;
    if (opening.has(method) && result?.models) {
      ({ models: rest, ...rest } = { ...result });
      const { models } = result;
      if (!models.availableModels?.some(({ modelId, name }) => modelId === models.currentModelId && name)) problems.push('models without the current one');
    }
    if (method === 'session/set_model') return Object.keys(result ?? { null: 1 }).length ? [...problems, 'session/set_model answers {}'] : problems;
    const name = find('Response', 'agent', method);
    return name ? [...problems, ...against(name, rest)] : problems;
  }

  return {
    outgoing(sent) {
      if (sent.method === undefined || sent.id === undefined) return;
      asked.set(sent.id, sent);
      const { method, params } = sent;
      if (method === 'initialize') early = !params.clientInfo && !params.info;
      if (method === 'session/load' || method === 'session/resume') known.add(params.sessionId);
      if (method === 'session/load') {
        loading.add(params.sessionId);
        calls.delete(params.sessionId);
      }
      if (method === 'session/prompt') prompts.set(params.sessionId, (prompts.get(params.sessionId) ?? 0) + 1);
    },
    incoming: (got, line) => {
      if (got.jsonrpc !== '2.0') return ['jsonrpc is missing'];
      return typeof got.method === 'string' ? request(got, line) : answer(got);
    },
    /** What was asked and never answered. */
    unanswered: () => [...asked.values()].map(({ method, id }) => `${method} ${id} was never answered`),
  };
}
