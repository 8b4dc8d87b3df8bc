import { join } from 'node:path';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { createConnection } from '@playwright/mcp';
import type { BrowserContext } from 'playwright-core';

/** A connection to Playwright MCP in this process, over the runner's own browser context. */
export interface PlaywrightConnection {
  /** Every tool of the enabled capabilities, as Playwright MCP describes it. */
  readonly tools: readonly Tool[];
  /** Rejects with an SdkError when the time is over. */
  request(name: string, args: Record<string, unknown>, timeoutMs: number, signal: AbortSignal): Promise<CallToolResult>;
  /** From now on Playwright MCP takes these values out of what it writes; it is never asked to type one. */
  setSecrets(secrets: Readonly<Record<string, string>>): void;
  /** Whether Playwright MCP would type a secret's value in place of this text. */
  isSecretName(text: string): boolean;
}

/** Groups of Playwright MCP's tools; `vision` has clicks by coordinates. */
const CAPABILITIES = ['core', 'core-navigation', 'core-tabs', 'core-input', 'vision'] as const;

const ACTION_MS = 5_000;
const NAVIGATION_MS = 30_000;
/** Playwright MCP's own files (screenshots, downloads, logs) are dropped, oldest first, above this. */
const FILES_BYTES_MAX = 64 * 1024 * 1024;

export async function connectPlaywright(context: BrowserContext, filesDir: string): Promise<PlaywrightConnection> {
  // Playwright MCP reads this object at each call, so secrets may come later. No prototype: `constructor` is no
  // secret.
  const secrets: Record<string, string> = Object.create(null);
  const server = await createConnection(
    {
      capabilities: [...CAPABILITIES],
      secrets,
      webmcp: false,
      snapshot: { mode: 'none' },
      outputDir: join(filesDir, 'playwright'),
      outputMaxSize: FILES_BYTES_MAX,
      console: { level: 'error' },
      // The runner waits by a rule of its own.
      timeouts: { action: ACTION_MS, navigation: NAVIGATION_MS, settle: 0 },
    },
    async () => context,
  );
  const client = new Client({ name: 'omicron-runner', version: '1' });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  const { tools } = await client.listTools();
  return {
    tools,
    request: (name, args, timeoutMs, signal) =>
      client.request({ method: 'tools/call', params: { name, arguments: args } }, { signal, timeout: timeoutMs }),
    setSecrets(given) {
      // Longest first: upstream redacts in this order, and a value may lie inside another.
      const sorted = Object.entries(given).sort(([, a], [, b]) => b.length - a.length);
      for (const [name, value] of sorted) secrets[name] = value;
    },
    isSecretName: text => Object.hasOwn(secrets, text),
  };
}
