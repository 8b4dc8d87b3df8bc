import { randomBytes } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Toolset } from '../../../contract/assignment.ts';
import { ENV } from '../../../contract/names.ts';
import { CODE_META } from '../../../contract/tool-failure.ts';
import { fakeCollector } from '../../fakes/collector.ts';
import type { FakeController } from '../../fakes/controller.ts';
import { type HostileSite, startHostileSite } from '../../site/hostile-site.ts';
import type { RunnerProcess } from '../start.ts';
import { startLease } from '../start-lease.ts';

/** Symbols that escapers treat in many ways. */
export const PASSWORD = 'Tr0ub4&dor"<3>\'+ %é';
/** Blocks: wherever this is drawn in green, a picture has many green pixels. */
export const BLOCKS = '█7▙█q▟█▙x█▟k█▙';

export interface Part {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
}

export interface Answer {
  readonly text: string;
  /** All of it but the pictures, as JSON. */
  readonly whole: string;
  readonly pictures: readonly Buffer[];
  readonly failed: boolean;
  /** The code with which the runner refused the call, or with which it failed. */
  readonly code: string | undefined;
}

const SECRETS = {
  SHOP_USERNAME: 'alice.smith@mail.invalid',
  SHOP_PASSWORD: PASSWORD,
  BLOCK_USERNAME: 'blocked.user',
  BLOCK_PASSWORD: BLOCKS,
};

export interface HostileLeaseOptions {
  readonly recordVideo?: boolean;
  /** The pages let waits of half a second pass at once. */
  readonly hurried?: boolean;
  /** For the logins shop and block. */
  readonly secrets?: Record<string, string>;
}

/** A lease of a real runner, with two logins for a site whose pages are hostile. */
export interface HostileLease extends AsyncDisposable {
  readonly site: HostileSite;
  readonly controller: FakeController;
  readonly runner: RunnerProcess;
  readonly client: Client;
  /** Gets the runner's spans: those of each call and of what its pages load. */
  readonly collector: Awaited<ReturnType<typeof fakeCollector>>;
  call(name: string, args?: Record<string, unknown>): Promise<Answer>;
  goTo(page: string): Promise<Answer>;
}

export async function leaseOnHostileSite(
  toolset: Toolset,
  { recordVideo = false, hurried = false, secrets = SECRETS }: HostileLeaseOptions = {},
): Promise<HostileLease> {
  const site = await startHostileSite({ hurried });
  const collector = await fakeCollector();
  const lease = await startLease({
    ...{ toolset, recordVideo },
    env: { [ENV.insecureLoginOrigins]: site.url, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    prepare(controller) {
      controller.secrets = secrets;
      controller.sites = [
        { site: 'shop', totp: false },
        { site: 'block', totp: false },
      ];
    },
  });
  const { controller, runner, client } = lease;
  const call = async (name: string, args: Record<string, unknown> = {}): Promise<Answer> => {
    const traceparent = `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
    const result = await client.callTool({ name, arguments: args, _meta: { traceparent } });
    const content = result.content as Part[]; // the tool-result shape of the protocol
    return {
      text: content.map(part => part.text ?? '').join('\n'),
      whole: JSON.stringify({ ...result, content: content.filter(({ data }) => data === undefined) }),
      pictures: content.flatMap(({ data }) => (data === undefined ? [] : [Buffer.from(data, 'base64')])),
      failed: result.isError === true,
      code: result._meta?.[CODE_META] as string | undefined, // as the runner writes it
    };
  };
  return {
    site,
    controller,
    runner,
    client,
    collector,
    call,
    goTo: page => call('browser_navigate', { url: `${site.url}/${page}` }),
    async [Symbol.asyncDispose]() {
      await lease[Symbol.asyncDispose]();
      await collector[Symbol.asyncDispose]();
      await site.close();
    },
  };
}
