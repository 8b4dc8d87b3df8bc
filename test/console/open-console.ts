import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import type { DemoSite } from '../../local/demo-site.ts';
import { findTools } from '../../local/machine-tools.ts';
import type { Stack } from '../../local/stack.ts';
import { startSiteStack } from '../local/site-stack.ts';

/** A local stack, and a person's browser in which its console is open. */
export interface OpenConsole extends AsyncDisposable {
  readonly site: DemoSite;
  readonly stack: Stack;
  readonly sessions: BrowserSessions;
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly page: Page;
  /** Forbidden acts of the pages: errors, refusals of their CSP, requests to elsewhere. */
  readonly faults: string[];
}

/** Pages of `embedOrigins` may have a preview in a frame. */
export async function openConsole({ embedOrigins = [] as readonly string[] } = {}): Promise<OpenConsole> {
  await using started = new AsyncDisposableStack();
  const { site, stack, sessions } = started.use(
    await startSiteStack(({ url }) => ({
      settings: {
        [ENV.consoleEmbedOrigins]: embedOrigins.join(','),
        [ENV.webhookAllowedCidrs]: '127.0.0.1/32',
      },
      runnerEnv: { [ENV.insecureLoginOrigins]: url },
    })),
  );
  const { browser: executablePath } = findTools(process.env);
  const browser = await chromium.launch({ executablePath: executablePath ?? '', chromiumSandbox: false });
  started.defer(() => browser.close());
  const context = await browser.newContext();
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', error => faults.push(error.message));
  page.on('console', message => {
    if (message.text().includes('Content Security Policy')) faults.push(message.text());
  });
  page.on('request', request => {
    if (new URL(request.url()).origin !== stack.console.url) faults.push(`request to ${request.url()}`);
  });
  const parts = started.move();
  return {
    ...{ site, stack, sessions, browser, context, page, faults },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** Faults that axe finds in the page, each with the elements. */
export async function accessibilityFaults(page: Page): Promise<unknown[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run()); // the script above defines it
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}

const PHONE = { width: 360, height: 740 };

/** Faults of the page on a phone, in light and in dark: what axe finds, and a page that is wider than the screen. */
export async function phoneFaults(page: Page): Promise<unknown[]> {
  const before = page.viewportSize();
  await page.setViewportSize(PHONE);
  const faults: unknown[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    faults.push(...(await accessibilityFaults(page)));
  }
  const width = Number(await page.evaluate('document.documentElement.scrollWidth'));
  if (width > PHONE.width) faults.push(`${width} px wide`);
  await page.emulateMedia({ colorScheme: null });
  if (before !== null) await page.setViewportSize(before);
  return faults;
}
