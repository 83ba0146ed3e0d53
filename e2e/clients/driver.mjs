// What the drivers share: flags, the printed stream, the server as a child process, and the clock.
//
// A driver is `node NAME.mjs [FLAGS] -- SERVER [ARG…]`. It prints one JSON object per line, each with the milliseconds since the start (t) and
// a kind, and exits 0 when everything it did was answered, every incoming message was valid, and the server ended by itself with code 0.
// Kinds that all of them print:
//   start    pid              the server runs
//   raw      dir, line        a message as it stood on the wire; dir is "in" (from the server) or "out"
//   stderr   line             what the server logged
//   invalid  problems, line   a message that a client may not be able to read
//   error    step, code, message, data   an error answer
//   paused, resumed, killed   what --pause-on and --kill-on did
//   exit     code, signal     the server ended
//   end      ok, reason       the last line
// Flags that all of them know:
//   --cwd DIR        the workspace (default: the current directory; the server is started there as well)
//   --timeout MS     the whole run's limit (default 30000)
//   --kill-on TEXT   SIGKILL for the server when an incoming message holds TEXT; the run then ends, and well
//   --pause-on TEXT, --pause-ms MS   stop reading for MS (default 3000) when an incoming message holds TEXT
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';

const common = { cwd: 1, timeout: 1, 'kill-on': 1, 'pause-on': 1, 'pause-ms': 1 };
const began = performance.now();
let valid = true;
let over = false; // the last line is printed
let killed = false; // by --kill-on: what fails after that fails as it should

/** Prints one line of the stream. */
export function emit(kind, fields = {}) {
  if (over) return;
  over = kind === 'end';
  process.stdout.write(JSON.stringify({ t: Math.round((performance.now() - began) * 10) / 10, kind, ...fields }) + '\n');
}

/** Prints a finding about an incoming message; the run cannot end well any more. */
export function invalid(line, ...problems) {
  if (problems.length === 0) return;
  valid = false;
  emit('invalid', { problems, line });
}

/** Prints an error answer, or a mistake of the driver itself; the run cannot end well any more. */
export function failed(step, error) {
  if (!killed) valid = false;
  emit('error', { step, code: error?.code ?? null, message: String(error?.message ?? error), data: error?.data ?? null });
}

/**
 * Reads the flags up to `--` and the server's command after it. `arity` names the driver's own flags with the number of values each takes.
 * Returns the last value of each flag, all flags in the order given (for drivers whose flags are steps), and the command.
 */
export function flags(arity) {
  const known = { ...common, ...arity };
  const argv = process.argv.slice(2);
  const split = argv.indexOf('--');
  if (split < 0 || split === argv.length - 1) usage(known, 'no server command after --');
  const given = [];
  for (let i = 0; i < split; ) {
    const name = argv[i].replace(/^--/, '');
    if (!argv[i].startsWith('--') || !(name in known)) usage(known, `unknown flag ${argv[i]}`);
    const values = argv.slice(i + 1, i + 1 + known[name]);
    if (i + known[name] >= split) usage(known, `--${name} takes ${known[name]} value(s)`);
    given.push({ name, values });
    i += 1 + known[name];
  }
  const last = Object.fromEntries(given.map(({ name, values }) => [name, values.length === 0 ? true : values[0]]));
  return {
    ...last,
    cwd: resolve(last.cwd ?? '.'),
    all: (name) => given.filter((flag) => flag.name === name).map((flag) => flag.values[0]),
    steps: given,
    command: argv.slice(split + 1),
  };
}

function usage(known, complaint) {
  process.stderr.write(`${complaint}\nflags: ${Object.keys(known).map((name) => `--${name}`).join(' ')} -- SERVER [ARG…]\n`);
  process.exit(2);
}

/** Starts the server with the driver's own environment. */
export function start(options) {
  const [command, ...args] = options.command;
  const child = spawn(command, args, { cwd: options.cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => {}); // the server may leave first
  observe(child);
  return child;
}

/** Prints how a child starts, ends and logs, also one that an SDK started. */
export function observe(child) {
  if (child.pid) emit('start', { pid: child.pid });
  child.on('error', (error) => failed('start', error));
  child.on('close', (code, signal) => emit('exit', { code, signal }));
  child.ended = new Promise((done) => child.on('close', (code, signal) => done({ code, signal })));
  child.stderr?.on('data', lines((line) => emit('stderr', { line: line.toString() })));
  process.on('exit', () => child.kill('SIGKILL'));
}

/** Cuts a stream's chunks into lines and calls back with each as a Buffer, without its newline. */
export function lines(each) {
  let rest = [];
  return (chunk) => {
    for (let from = 0; ; ) {
      const end = chunk.indexOf(10, from);
      if (end < 0) {
        if (from < chunk.length) rest.push(chunk.subarray(from));
        return;
      }
      rest.push(chunk.subarray(from, end));
      each(Buffer.concat(rest));
      rest = [];
      from = end + 1;
    }
  };
}

/** Parses the bytes of one message; prints a finding and returns undefined when they are not one JSON object in UTF-8. */
export function message(bytes) {
  let line;
  try {
    line = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    invalid(bytes.toString('latin1'), 'not UTF-8');
    return undefined;
  }
  emit('raw', { dir: 'in', line });
  let value;
  try {
    value = JSON.parse(line);
  } catch (error) {
    invalid(line, `not JSON: ${error.message}`);
    return undefined;
  }
  invalid(line, ...envelope(value));
  for (const watch of watches) {
    if (watch.text !== undefined && line.includes(watch.text)) {
      watch.text = undefined;
      watch.act(value);
    }
  }
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? { value, line } : undefined;
}

/** What no client can be expected to read, whatever the protocol: JSON-RPC 2.0, sections 4 and 5. */
function envelope(value) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return ['not an object'];
  const problems = [];
  const has = (key) => Object.hasOwn(value, key);
  if (value.jsonrpc !== '2.0') problems.push('jsonrpc is not "2.0"');
  if (has('method')) {
    if (typeof value.method !== 'string') problems.push('method is not a string');
    if (has('result') || has('error')) problems.push('a method beside a result or an error');
    if (has('id') && value.id === null) problems.push('a notification with id null');
  } else {
    if (!has('id')) problems.push('an answer without an id');
    if (has('result') === has('error')) problems.push('an answer needs a result or an error, and one only');
    if (has('error') && (typeof value.error?.code !== 'number' || typeof value.error?.message !== 'string')) problems.push('an error without code or message');
  }
  return problems;
}

const watches = [];

/** Calls act once with the message, when an incoming one holds text; the SDK sees the message a little later. */
export function when(text, act) {
  if (text !== undefined) watches.push({ text, act });
}

/** Wires --kill-on and --pause-on to a child. */
export function meddle(options, child) {
  when(options['kill-on'], async () => {
    emit('killed');
    killed = true;
    child.kill('SIGKILL');
    await child.ended;
    finish('killed');
  });
  when(options['pause-on'], () => {
    emit('paused');
    child.stdout.pause();
    setTimeout(() => {
      child.stdout.resume();
      emit('resumed');
    }, Number(options['pause-ms'] ?? 3000));
  });
}

/** Waits for the server to end after its stdin was closed: with code 0, within five seconds. */
export async function ended(child) {
  const late = setTimeout(() => {
    failed('exit', 'the server is still there five seconds after its stdin was closed');
    child.kill('SIGKILL');
  }, 5000);
  const { code, signal } = await child.ended;
  clearTimeout(late);
  if (code !== 0) failed('exit', `the server ended with ${signal ?? `code ${code}`}`);
}

/** Runs a driver: one promise, one limit, one last line, one exit code. */
export function run(options, drive) {
  const limit = Number(options.timeout ?? 30000);
  setTimeout(() => {
    failed('timeout', `not done after ${limit} ms`);
    finish('timeout');
  }, limit);
  drive().then(
    () => killed || finish('done'),
    (error) => {
      failed('driver', error);
      if (!killed) finish('error');
    },
  );
}

let finishing = false;

function finish(reason) {
  if (finishing) return;
  finishing = true;
  emit('end', { ok: valid, reason });
  process.stdout.write('', () => process.exit(valid ? 0 : 1));
}
