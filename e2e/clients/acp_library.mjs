// Drives an ACP agent with one version of the official TypeScript library, --library DIR, as an editor of its time did: everything that the
// library can do, once.
//
// Kinds printed besides those of driver.mjs: done (step, result), stop (step, stopReason, text: the agent's message, kinds: of the session's
// updates), asked (title: of the call for which a permission was asked), and complaint (text), what the library logs.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { emit, ended, failed, flags, run, start } from './driver.mjs';

const options = flags({ library: 1 });
for (const level of ['error', 'warn', 'log']) console[level] = (...words) => emit('complaint', { text: words.map((word) => (word instanceof Error ? word.stack : typeof word === 'string' ? word : JSON.stringify(word))).join(' ') });

run(options, async () => {
  const { version } = JSON.parse(await readFile(join(options.library, 'package.json'), 'utf8'));
  const acp = await import(pathToFileURL(join(options.library, 'dist', 'acp.js')));
  const child = start(options);
  const output = Writable.toWeb(child.stdin);
  const input = Readable.toWeb(child.stdout);
  const editor = face();
  const agent = acp.ndJsonStream
    ? new acp.ClientSideConnection(() => editor.client, acp.ndJsonStream(output, input))
    : new acp.ClientSideConnection(() => editor.client, output, input);
  await editor.steps(agent, version);
  child.stdin.end();
  await ended(child);
});

/** The editor's side: what it answers, and what it does. */
function face() {
  let updates = [];
  let asking = (choices) => choices.find(({ kind }) => kind === 'allow_once');

  const client = {
    sessionUpdate: async ({ update }) => void updates.push(update),
    requestPermission: async ({ toolCall, options: choices }) => {
      emit('asked', { title: toolCall.title ?? '' });
      const chosen = await asking(choices);
      return { outcome: chosen ? { outcome: 'selected', optionId: chosen.optionId } : { outcome: 'cancelled' } };
    },
  };

  async function steps(agent, version) {
    const [major, minor] = version.split('.').map(Number);
    const folder = { cwd: options.cwd, mcpServers: [] };
    // One call, under the name that this version of the library has for it; undefined when it has none.
    const call = async (step, names, params) => {
      const name = names.find((each) => typeof agent[each] === 'function');
      if (!name) return undefined;
      updates = [];
      try {
        const result = await agent[name](params);
        emit('done', { step, result: result ?? null, kinds: [...new Set(updates.map(({ sessionUpdate }) => sessionUpdate))] });
        return result ?? {};
      } catch (error) {
        failed(step, error);
        return undefined;
      }
    };
    const prompt = async (sessionId, step, text) => {
      updates = [];
      try {
        const { stopReason } = await agent.prompt({ sessionId, prompt: [{ type: 'text', text }] });
        const said = updates.filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk').map(({ content }) => content.text);
        emit('stop', { step, stopReason, text: said.join(''), kinds: [...new Set(updates.map(({ sessionUpdate }) => sessionUpdate))] });
      } catch (error) {
        failed(step, error);
      }
    };

    // terminal is a little younger than the first version, clientInfo is of autumn 2025.
    await call('init', ['initialize'], {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, ...(version !== '0.1.2' && { terminal: false }) },
      ...((major > 0 || minor > 5) && { clientInfo: { name: 'editor', version } }),
    });
    const opened = await call('new', ['newSession'], folder);
    const { sessionId } = opened;
    await prompt(sessionId, 'read', 'read notes.txt');
    await prompt(sessionId, 'command', 'run echo from the shell');
    await prompt(sessionId, 'write', 'write made.txt: hello');
    await prompt(sessionId, 'think', 'think hard');
    await prompt(sessionId, 'plan', 'plan look; change');
    await prompt(sessionId, 'stream', 'stream 50 of 20');
    await prompt(sessionId, 'ask', 'ask which colour');
    const allow = asking;
    asking = async () => void (await agent.cancel({ sessionId }));
    await prompt(sessionId, 'cancel', 'run touch never');
    asking = allow;

    await call('mode', ['setSessionMode'], { sessionId, modeId: 'plan' });
    await call('mode', ['setSessionMode'], { sessionId, modeId: 'code' });
    // 0.4.5 sends session/set_mode here.
    if (opened.models && version !== '0.4.5') await call('model', ['setSessionModel', 'unstable_setSessionModel'], { sessionId, modelId: opened.models.currentModelId });
    const option = opened.configOptions?.find(({ category }) => category === 'model');
    if (option) await call('option', ['setSessionConfigOption'], { sessionId, configId: option.id, value: option.currentValue });
    await call('list', ['listSessions', 'unstable_listSessions'], {});
    const copy = await call('fork', ['forkSession', 'unstable_forkSession'], { sessionId, ...folder });
    if (copy) await prompt(copy.sessionId, 'copy', 'read made.txt');
    await call('resume', ['resumeSession', 'unstable_resumeSession'], { sessionId, ...folder });
    await call('load', ['loadSession'], { sessionId, ...folder });
    await prompt(sessionId, 'again', 'read made.txt');
    await call('close', ['closeSession', 'unstable_closeSession'], { sessionId });
  }
  return { client, steps };
}
