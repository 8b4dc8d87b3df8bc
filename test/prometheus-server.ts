import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A Prometheus of the folder; it scrapes nothing unless its configuration says so. Ends with the function that it answers. */
export async function startPrometheus(
  folder: string,
  config: object = {},
): Promise<{ url: string; stop: () => Promise<void> }> {
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config)); // JSON is YAML
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
      '--log.format=json',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill();
    await ended;
  };
  const log: string[] = [];
  let url = '';
  let isReady = false;
  for await (const line of createInterface(child.stderr)) {
    log.push(line);
    const { msg, address } = JSON.parse(line);
    if (msg === 'Listening on' && address) url = `http://${address}`;
    isReady ||= /ready to receive/i.test(msg);
    if (isReady && url !== '') break; // they are written in any order
  }
  child.stderr.resume();
  if (url === '') {
    await stop();
    throw new Error(`no Prometheus: ${log.join('\n')}`);
  }
  return { url, stop };
}
