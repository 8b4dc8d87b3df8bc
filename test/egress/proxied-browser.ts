import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchBrowser, type RunnerBrowser } from '../../runner/browser/browser.ts';
import { type EgressForwarder, type EgressRefusal, egressForwarder } from '../../runner/browser/egress-forwarder.ts';
import type { ProxyNetwork, TestLease } from './proxy-network.ts';

const CHROMIUM =
  ['/usr/lib/chromium/chromium-headless-shell', '/usr/bin/chromium'].find(path => existsSync(path)) ?? 'chromium';

/** A runner's browser, whose only way out is the network's proxy. */
export interface ProxiedBrowser {
  readonly executable: string;
  readonly browser: RunnerBrowser;
  readonly forwarder: EgressForwarder;
  /** Everything that was refused so far; the forwarder itself keeps the last hundred. */
  readonly refusals: readonly EgressRefusal[];
  close(): Promise<void>;
}

/** Launches it, and then leases it, as it is in a runner. */
export async function proxiedBrowser(
  network: ProxyNetwork,
  lease: TestLease,
  trustedSpki?: string,
): Promise<ProxiedBrowser> {
  const folder = mkdtempSync(join(tmpdir(), 'egress-browser-'));
  chmodSync(folder, 0o755); // as root the browser runs as another user
  const refusals: EgressRefusal[] = [];
  const forwarder = await egressForwarder({
    egressUrl: `http://127.0.0.1:${network.egress.port}`,
    onRefusal: refusal => refusals.push(refusal),
  });
  const browser = await launchBrowser({
    executable: CHROMIUM,
    sandbox: true,
    tempDir: folder,
    egressUrl: forwarder.proxyUrl,
    ...(trustedSpki === undefined ? {} : { trustedSpki }),
    searchPath: process.env.PATH ?? '',
  });
  forwarder.lease({ ...lease, holdsSecret: () => false });
  return {
    executable: CHROMIUM,
    browser,
    forwarder,
    refusals,
    async close() {
      await browser.close();
      await forwarder.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
