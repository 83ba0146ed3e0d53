// Drives an ECA server with vscode-jsonrpc, the library under the VS Code client, and checks the raw frames for what real clients are known
// to break on.
//
// Steps, done in the order given:
//   --prompt TEXT     prompt the chat; a first one is begun when there is none
//   --new             begin another chat (further prompts go there)
//   --open CHAT_ID    open a chat (further prompts go there)
//   --list            list chats
//   --request METHOD JSON   any request; "$chat" in JSON is the current chat's id
// Flags:
//   --dialect NAME      now (default), 000 or 001: today's protocol, or one of its two early forms, which have no chat id until the server mints one
//   --parallel          each prompt in a chat of its own, all at once, after the other steps
//   --approval POLICY   approve (default), session, reject or hold (never answer); given several times: the first question takes the first, and
//                       so on, the last one stays
//   --answer TEXT       offer chat/askQuestion, and answer so
//   --agent NAME        the agent that is named with each prompt (default: code)
//   --stop-after-ms MS  stop each prompt so long after it was sent
//   --stop-on TEXT      stop all running prompts once, when an incoming message holds TEXT
// Kinds printed besides those of driver.mjs: initialized, list, opened, result, prompt (chatId, text), prompted (chatId, result), content (chatId,
// role, content), notification (method, params), request (method, params, result), approval (chatId, toolCallId, policy), stopped, finished
// (chatId, text: the assistant's), and shutdown (result).
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node';
import { emit, ended, failed, flags, invalid, meddle, message, run, start, when } from './driver.mjs';

const options = flags({ prompt: 1, new: 0, open: 1, list: 0, request: 2, dialect: 1, parallel: 0, approval: 1, answer: 1, 'stop-after-ms': 1, 'stop-on': 1, agent: 1 });
const dialect = options.dialect ?? 'now';

run(options, async () => {
  const child = start(options);
  meddle(options, child);
  const check = checker();
  child.stdout.on('data', frames((bytes) => {
    const incoming = message(bytes);
    if (incoming) invalid(incoming.line, ...check(incoming.value));
  }));
  const writer = new StreamMessageWriter(child.stdin);
  const write = writer.write.bind(writer);
  writer.write = (sent) => {
    emit('raw', { dir: 'out', line: JSON.stringify(sent) });
    return write(sent);
  };
  const connection = createMessageConnection(new StreamMessageReader(child.stdout), writer);
  connection.onError(([error]) => failed('connection', error));
  await converse(connection);
  child.stdin.end();
  await ended(child);
  connection.dispose();
});

async function converse(connection) {
  const policies = options.all('approval');
  const chats = new Map(); // chat id → {running, finishes: how many of its turns ended, text, waiting: to call when the turn ends}
  const chatOf = (id) => chats.get(id) ?? chats.set(id, { running: false, finishes: 0, text: '', waiting: [] }).get(id);
  let asked = 0;

  connection.onNotification((method, params) => {
    if (method !== 'chat/contentReceived') return emit('notification', { method, params });
    const { chatId, role, content } = params;
    emit('content', { chatId, role, content });
    const chat = chatOf(chatId);
    if (role === 'assistant' && content.type === 'text') chat.text += content.text;
    if (content.type === 'toolCallRun' && content.manualApproval) approve(chatId, content.id);
    if (content.type === 'progress' && content.state === 'finished') {
      emit('finished', { chatId, text: chat.text });
      Object.assign(chat, { running: false, finishes: chat.finishes + 1, text: '' });
      chat.waiting.splice(0).forEach((go) => go());
    }
  });
  connection.onRequest((method, params) => {
    const answers = {
      'chat/askQuestion': { answer: options.answer, cancelled: options.answer === undefined },
      'editor/getDiagnostics': { diagnostics: [] },
    };
    emit('request', { method, params, result: answers[method] ?? null });
    if (!(method in answers)) failed('request', `${method} was not offered`);
    return answers[method] ?? null;
  });
  connection.listen();

  function approve(chatId, toolCallId) {
    const policy = policies[Math.min(asked++, policies.length - 1)] ?? 'approve';
    emit('approval', { chatId, toolCallId, policy });
    if (policy === 'reject') connection.sendNotification('chat/toolCallReject', { chatId, toolCallId });
    else if (policy === 'session') connection.sendNotification('chat/toolCallApprove', { chatId, toolCallId, save: 'session' });
    else if (policy === 'approve') connection.sendNotification('chat/toolCallApprove', { chatId, toolCallId });
  }
  const ask = async (kind, method, params) => {
    try {
      const result = await connection.sendRequest(method, params);
      emit(kind, { result, ...(params?.chatId === undefined ? {} : { chatId: params.chatId }) });
      return result;
    } catch (error) {
      failed(method, error);
      return undefined;
    }
  };
  const stop = (chatId) => {
    emit('stopped', { chatId });
    connection.sendNotification('chat/promptStop', { chatId });
  };
  when(options['stop-on'], ({ params, result }) => {
    const ids = new Set([...chats.keys()].filter((id) => chats.get(id).running));
    const here = params?.chatId ?? result?.chatId; // perhaps an id that the server just minted
    if (here) ids.add(here);
    ids.forEach(stop);
  });

  // Returns the chat's id, which in the early dialects the server mints.
  const prompt = async (known, text) => {
    const chatId = known ?? (dialect === 'now' ? randomUUID() : undefined);
    if (chatId) Object.assign(chatOf(chatId), { running: true, text: '' });
    emit('prompt', { chatId, text });
    const timer = options['stop-after-ms'] && chatId && setTimeout(() => stop(chatId), Number(options['stop-after-ms']));
    const done = chatId && new Promise((go) => chatOf(chatId).waiting.push(go));
    const result = await ask('prompted', 'chat/prompt', promptParams(chatId, text));
    const id = result?.chatId;
    if (id === undefined) return known;
    if (chatId && id !== chatId) failed('chat/prompt', `the chat ${chatId} was answered as ${id}`);
    const minted = chatOf(id);
    if (chatId) await done;
    else if (minted.finishes === 0) {
      minted.running = true;
      await new Promise((go) => minted.waiting.push(go));
    }
    clearTimeout(timer);
    return id;
  };

  const initialized = await ask('initialized', 'initialize', initializeParams());
  if (typeof initialized?.chatWelcomeMessage !== 'string') failed('initialize', 'no chatWelcomeMessage: the Emacs client would stop here');
  await connection.sendNotification('initialized', {});
  let chat;
  for (const { name, values } of options.steps) {
    if (name === 'list') await ask('list', 'chat/list', {});
    if (name === 'new') chat = undefined;
    if (name === 'open') {
      chatOf(values[0]);
      const opened = await ask('opened', 'chat/open', { chatId: values[0] });
      if (opened?.found === false) failed('chat/open', `${values[0]} was not found`);
      chat = values[0];
    }
    if (name === 'request') await ask('result', values[0], JSON.parse(values[1].replaceAll('$chat', chat ?? '')));
    if (name === 'prompt' && !options.parallel) chat = await prompt(chat, values[0]);
  }
  if (options.parallel) await Promise.all(options.all('prompt').map((text) => prompt(undefined, text)));
  await ask('shutdown', 'shutdown', null);
  await connection.sendNotification('exit', null);
}

/** What a client of the chosen dialect sends, with the traits of real ones: null agent and model, and a kebab-case key, as Emacs has them. */
function initializeParams() {
  const chat = {
    now: { chat: true, editor: { diagnostics: true }, chatCapabilities: { askQuestion: options.answer !== undefined } },
    '000': { chat: true, editor: { diagnostics: true } },
    '001': { chat: true, doc: true, edit: true, fix: true },
  };
  return {
    processId: process.pid,
    clientInfo: { name: 'emacs', version: '30.2' },
    initializationOptions: dialect === 'now' ? { chatAgent: null } : { chatBehavior: 'agent' },
    capabilities: { codeAssistant: chat[dialect] },
    workspaceFolders: [{ uri: pathToFileURL(options.cwd).href, name: basename(options.cwd) }],
  };
}

let requests = 0;

function promptParams(chatId, text) {
  const id = ++requests;
  if (dialect === 'now') return { message: text, 'request-id': id, chatId, model: null, agent: options.agent ?? 'code', contexts: [] };
  const early = { message: text, behavior: 'agent', contexts: [], ...(chatId && { chatId }) };
  return dialect === '000' ? early : { ...early, requestId: String(id) };
}

/** Cuts a stream into frames and calls back with each body. The header must be spelt as the Emacs client wants it. */
function frames(each) {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const end = rest.indexOf('\r\n\r\n');
      if (end < 0) return;
      const header = rest.subarray(0, end).toString('latin1');
      const length = Number(/^Content-Length: (\d+)$/m.exec(header)?.[1] ?? NaN);
      if (Number.isNaN(length)) {
        invalid(header, 'a frame without a Content-Length header so spelt');
        rest = Buffer.alloc(0);
        return;
      }
      if (rest.length < end + 4 + length) return;
      const body = rest.subarray(end + 4, end + 4 + length);
      rest = rest.subarray(end + 4 + length);
      each(body);
    }
  };
}

/** Each rule stands for a client that was seen or read to fail without it. */
function checker() {
  const prepared = new Set();
  return ({ method, params }) => {
    const problems = [];
    const want = (holds, text) => holds || problems.push(text);
    if (method === 'config/updated') {
      if (params.chat) want(typeof params.chat === 'object', 'config/updated: chat is no object');
      return problems;
    }
    if (method !== 'chat/contentReceived') return problems;
    const { chatId, role, content } = params;
    want(typeof chatId === 'string' && chatId !== '', 'content without a chatId');
    want(['user', 'system', 'assistant'].includes(role), `unknown role ${role}`);
    want(typeof content?.type === 'string', 'content without a type');
    const { type } = content;
    if (type === 'text') want(typeof content.text === 'string', 'text without text');
    if (type === 'progress') want(['running', 'finished'].includes(content.state), `progress ${content.state}`);
    if (type === 'url') want(typeof content.title === 'string', 'a url without a title stops the Emacs client');
    if (type === 'hookActionFinished') want(typeof content.status === 'number', 'a hook without a status number stops the Emacs client');
    if (type?.startsWith('reason')) want(typeof content.id === 'string', `${type} without an id`);
    if (type?.startsWith('toolCall')) {
      const { id, name, server } = content;
      want(typeof id === 'string' && typeof name === 'string' && typeof server === 'string', `${type} without id, name or server is not shown`);
      if (type === 'toolCallPrepare') prepared.add(`${chatId} ${id}`);
      else want(prepared.has(`${chatId} ${id}`), `${type} for ${id} before its toolCallPrepare is ignored by the webview`);
      const args = content.arguments;
      want(args === undefined || (args !== null && typeof args === 'object' && !Array.isArray(args)), `${type}: arguments must be an object`);
      if (content.details?.type === 'fileChange') want(typeof content.details.diff === 'string', 'a fileChange without a diff stops the webview');
      if (type === 'toolCallRun') want(typeof content.manualApproval === 'boolean', 'toolCallRun without manualApproval');
    }
    if (type === 'usage') {
      for (const key of ['messageCost', 'lastMessageCost', 'sessionCost']) want(['string', 'undefined'].includes(typeof content[key]), `usage: ${key} must be a string`);
    }
    return problems;
  };
}
