import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Snapshot } from '../../contract/assignment.ts';
import { ENV } from '../../contract/names.ts';
import { TOKENS_DEFAULT } from '../../runner/budget/fit.ts';
import { callText } from '../runner/start.ts';
import { startLease } from '../runner/start-lease.ts';
import { PAGES, type PageName } from './pages.ts';
import { tokensOf } from './tokens.ts';

const CHOICES: Readonly<Record<PageName, string>> = { small: 'Team', table: 'Open', form: 'France' };

const ACTIONS = (url: string, choice: string): [string, Record<string, unknown>][] => [
  ['browser_navigate', { url }],
  ['browser_snapshot', {}],
  ['browser_click', { target: '#act' }],
  ['browser_type', { target: '#first', text: 'Ada' }],
  ['browser_press_key', { key: 'Tab' }],
  ['browser_select_option', { target: '#choice', values: [choice] }],
  ['browser_click', { target: '#act' }],
  ['browser_type', { target: '#second', text: 'Lovelace' }],
  ['browser_wait_for', { time: 0.1 }],
  ['browser_snapshot', {}],
];

/** Tokens of the answers to ten actions on each page; `snapshot` says whose snapshots they carry. */
export async function tenActions(snapshot: Snapshot, tokensMax = TOKENS_DEFAULT): Promise<Record<PageName, number>> {
  const server = createServer((request, response) => {
    const page = new Map(Object.entries(PAGES)).get((request.url ?? '').slice(1)) ?? PAGES.small;
    response.setHeader('content-type', 'text/html; charset=utf-8').end(`<!doctype html>${page}`);
  }).listen(0, '127.0.0.1');
  try {
    await using lease = await startLease({
      recordVideo: false,
      snapshot,
      env: { [ENV.answerTokens]: String(tokensMax) },
    });
    const { port } = server.address() as AddressInfo; // it listens on TCP
    const used = (name: PageName) => tokensOn(lease.client, `http://127.0.0.1:${port}/${name}`, CHOICES[name]);
    return { small: await used('small'), table: await used('table'), form: await used('form') };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function tokensOn(client: Client, url: string, choice: string): Promise<number> {
  let tokens = 0;
  for (const [name, args] of ACTIONS(url, choice)) {
    tokens += tokensOf(await callText(client, name, args));
  }
  return tokens;
}
