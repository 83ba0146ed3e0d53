// Validates a conversation that was taken down: lines of {"dir":"in"|"out","line":…} on standard input, "in" being from the agent. Prints
// {"line":…,"problems":[…]} for each message that a client could not take, and {"checked":N} at the end. Exits 1 when there was one.
import { checker } from './acpcheck.mjs';

const check = checker();
let checked = 0;
let bad = 0;
const tell = (problems, line) => {
  if (problems.length === 0) return;
  bad++;
  console.log(JSON.stringify({ problems, line: line.slice(0, 2000) }));
};
// Read whole: readline looks at a long line again with each piece of it.
const pieces = [];
for await (const piece of process.stdin) pieces.push(piece);
for (const text of Buffer.concat(pieces).toString().split('\n')) {
  if (text === '') continue;
  const { dir, line } = JSON.parse(text);
  const message = JSON.parse(line);
  if (dir === 'out') {
    check.outgoing(message);
    continue;
  }
  checked++;
  tell(check.incoming(message, line), line);
}
tell(check.unanswered(), '');
console.log(JSON.stringify({ checked }));
process.exit(bad ? 1 : 0);
