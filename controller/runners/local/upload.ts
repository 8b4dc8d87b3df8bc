import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ENV } from '../../../contract/names.ts';
import { UPLOAD_ORDER_FILE } from '../../../contract/reports.ts';

const ATTEMPTS = 3;
/** Characters of an uploader's output that are logged. */
const OUTPUT_MAX = 2_000;

export interface UploadParts {
  /** File of the uploader. */
  uploader: string;
  environment: () => Promise<Record<string, string>>;
  log: Logger;
}

/** Sends what ended runners recorded, by an uploader process for each. */
export interface Uploads {
  /** Starts an uploader where one is due. True: nothing is left to send, or it failed too often. */
  isDone(runnerId: string, output: string): Promise<boolean>;
  forget(runnerId: string): void;
}

export function uploads({ uploader, environment, log }: UploadParts): Uploads {
  const known = new Map<string, { attempts: number; running: boolean }>();

  const run = (runnerId: string, output: string, env: Record<string, string>): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const child = spawn(process.execPath, [uploader, '--once'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...env, [ENV.outputDir]: output },
    });
    let stderr = '';
    child.stderr.on('data', chunk => {
      stderr = `${stderr}${chunk}`.slice(-OUTPUT_MAX);
    });
    const failed = (reason: string) => log.error({ runner_id: runnerId, reason, stderr }, 'upload failed');
    child.on('error', error => {
      failed(error.message);
      resolve();
    });
    child.on('exit', code => {
      if (code !== 0) failed(`exit code ${code}`);
      resolve();
    });
    return promise;
  };

  return {
    async isDone(runnerId, output) {
      if (!existsSync(join(output, UPLOAD_ORDER_FILE))) return true;
      const upload = known.get(runnerId) ?? { attempts: 0, running: false };
      known.set(runnerId, upload);
      if (upload.running) return false;
      if (upload.attempts >= ATTEMPTS) return true;
      upload.attempts += 1;
      upload.running = true;
      const env = await environment();
      void run(runnerId, output, env).finally(() => {
        upload.running = false;
      });
      return false;
    },
    forget: runnerId => void known.delete(runnerId),
  };
}
