// Kills a runner that does not answer over HTTP. A process of its own, since a thread stops with the runner, and in JavaScript, since
// Node's reader of TypeScript would keep 13 MB more in every pod. Arguments: see `watchdog.ts`, which starts it.
import { writeSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const { pid, runnerId, host, port, askEveryMs, answerMs, silentMax } = JSON.parse(process.argv[2] ?? '');
// The runner holds the other end of this pipe.
process.stdin.on('end', () => process.exit()).resume();

// Whatever the answer is, the browser is not asked for it.
const REQUEST = 'HEAD / HTTP/1.1\r\nHost: runner\r\nConnection: close\r\n\r\n';

/** Whether the runner is silent. One that closes its port, or the connection, ends by itself. */
const isSilent = () =>
  new Promise(resolve => {
    const socket = connect(port, host, () => socket.write(REQUEST));
    const settle = silent => {
      socket.destroy();
      resolve(silent);
    };
    socket.setTimeout(answerMs, () => settle(true));
    for (const event of ['data', 'end', 'error']) socket.once(event, () => settle(false));
  });

let answeredAtMs = performance.now();
for (let silent = 0; silent < silentMax; ) {
  await delay(askEveryMs);
  silent = (await isSilent()) ? silent + 1 : 0;
  if (silent === 0) answeredAtMs = performance.now();
}
const seconds = Math.round((performance.now() - answeredAtMs) / 1_000);
const why = `it had not answered over HTTP for ${seconds} s`;
// The last line of its log becomes the reason of the lease's end (controller/runners/kubernetes/verdict.ts).
const line = { level: 60, time: Date.now(), runner_id: runnerId, why, msg: 'runner does not answer; killing it' };
writeSync(2, `${JSON.stringify(line)}\n`);
process.kill(pid, 'SIGKILL');
process.exit();
