import { join } from 'node:path';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { createConnection } from '@playwright/mcp';
import type { BrowserContext } from 'playwright-core';
import { NAVIGATION_MS } from '../browser/navigation-time.ts';

/** A connection to Playwright MCP in this process, over the runner's own browser context. */
export interface PlaywrightConnection {
  /** Every tool of the enabled capabilities, as Playwright MCP describes it. */
  readonly tools: readonly Tool[];
  /** Rejects with an SdkError when the time is over. */
  request(name: string, args: Record<string, unknown>, timeoutMs: number, signal: AbortSignal): Promise<CallToolResult>;
  /** These names stand for values, none of which Playwright MCP is asked to type. */
  setSecretNames(names: readonly string[]): void;
  /** From now on Playwright MCP takes this value out of what it writes. */
  addSecret(name: string, value: string): void;
  /** Whether Playwright MCP would type a secret's value in place of this text. */
  isSecretName(text: string): boolean;
}

/** Groups of Playwright MCP's tools; `vision` has clicks by coordinates. */
const CAPABILITIES = ['core', 'core-navigation', 'core-tabs', 'core-input', 'vision'] as const;

const ACTION_MS = 5_000;
/** Playwright MCP's own files (screenshots, downloads, logs) are dropped, oldest first, above this. */
const FILES_BYTES_MAX = 64 * 1024 * 1024;

export async function connectPlaywright(context: BrowserContext, filesDir: string): Promise<PlaywrightConnection> {
  // Playwright MCP reads this object at each call, so secrets may come later. No prototype: `constructor` is no
  // secret.
  const secrets: Record<string, string> = Object.create(null);
  const names = new Set<string>();
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
    setSecretNames(given) {
      for (const name of given) names.add(name);
    },
    addSecret(name, value) {
      // In a name it would be replaced too, and the runner takes it out of results itself.
      if ([...names].some(each => each.includes(value))) return;
      const all = Object.entries({ ...secrets, [name]: value });
      for (const known of Object.keys(secrets)) delete secrets[known];
      // Longest first: upstream redacts in this order, and a value may lie inside another.
      for (const [each, its] of all.sort(([, a], [, b]) => b.length - a.length)) secrets[each] = its;
    },
    isSecretName: text => names.has(text),
  };
}
