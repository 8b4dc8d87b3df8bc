import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { AssignmentOptions } from '../fakes/controller/runners.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { connect, type RunnerProcess, startRunner } from './start.ts';

/** A real runner with a lease, and a client of it. */
export interface LeasedRunner extends AsyncDisposable {
  readonly controller: FakeController;
  readonly runner: RunnerProcess;
  readonly client: Client;
  readonly mcpToken: string;
}

export interface LeasedRunnerOptions extends AssignmentOptions {
  readonly env?: Record<string, string>;
  /** Another clone, whose runner it is. */
  readonly cwd?: string;
  /** The state that the runner is to find with its controller. */
  readonly prepare?: (controller: FakeController) => void;
}

export async function startLease({ env, prepare, cwd, ...options }: LeasedRunnerOptions = {}): Promise<LeasedRunner> {
  const controller = await startFakeController();
  prepare?.(controller);
  const runner = await startRunner(controller, env, 'warm', cwd);
  const { token, mcpToken } = await controller.assignment(runner, options);
  await runner.post('/assign', { token });
  const client = await connect(runner.url, mcpToken);
  return {
    ...{ controller, runner, client, mcpToken },
    async [Symbol.asyncDispose]() {
      await client.close();
      await runner.dispose();
      await controller.close();
    },
  };
}
