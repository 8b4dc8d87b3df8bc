import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { vaultSecretName } from '../../contract/secrets.ts';
import { backoffMs } from '../../time/backoff.ts';
import type { SecretStore } from '../ports/secrets.ts';
import { readDocument } from './vault-document.ts';

const TIMEOUT_MS = 5_000;
const RETRY_SECONDS = 2;
/** Code of a write that another replica overtook. */
const TRIES = 12;
const PAUSE = { firstMs: 20, maxMs: 200, jitter: 1 };

const document = z.looseObject({ credentials: z.record(z.string(), z.unknown()) });
/** `data.data` is null when the latest version was deleted; `version` is then the one to name in a write. */
const secret = z.object({
  data: z.object({ data: z.unknown().nullable(), metadata: z.object({ version: z.int() }) }),
});

interface Version {
  /** The stored document; null: nothing, or it was deleted. */
  readonly stored: unknown;
  readonly version: number;
}

/**
 * HashiCorp Vault's KV version 2 (A13): one secret a user, whose data is the vault document. Writes name the version that they change
 * (`cas`), so that none of two replicas is lost. <https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2>
 */
export function vaultKvSecrets(options: { url: string; mount: string; token: string }): SecretStore {
  const { url, mount, token } = options;
  let turn: Promise<unknown> = Promise.resolve();

  const request = async (userId: string, init: { method: string; body?: string }): Promise<Response> => {
    try {
      return await fetch(new URL(`v1/${mount}/data/${pathOf(userId)}`, url), {
        ...init,
        headers: { 'x-vault-token': token, 'content-type': 'application/json' },
        redirect: 'error', // the token goes to this host alone
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (cause) {
      throw secretsUnavailable('The vault cannot be reached, so no secrets were redeemed. Try again.', cause);
    }
  };

  const read = async (userId: string): Promise<Version> => {
    const response = await request(userId, { method: 'GET' });
    if (response.status !== 200 && response.status !== 404) throw statusRefused(response.status);
    const found = secret.safeParse(await response.json().catch(() => undefined));
    if (found.success) return { stored: found.data.data.data, version: found.data.data.metadata.version };
    if (response.status === 404) return { stored: null, version: 0 };
    throw secretsUnavailable(`The vault's answer is none of a KV version 2: check the mount "${mount}".`);
  };

  /** False: another write came first. */
  const write = async (userId: string, data: unknown, version: number): Promise<boolean> => {
    const body = JSON.stringify({ options: { cas: version }, data });
    const response = await request(userId, { method: 'POST', body });
    if (response.ok) return true;
    if (response.status === 400 && /check-and-set/.test(await response.text())) return false;
    throw statusRefused(response.status);
  };

  /** Changes of this process in turn; those of other replicas are seen by their versions. Answers what `edit` answered. */
  const change = (userId: string, edit: (credentials: Record<string, unknown>) => boolean): Promise<boolean> => {
    const next = turn.then(async () => {
      for (let attempt = 0; attempt < TRIES; attempt += 1) {
        const { stored, version } = await read(userId);
        const parsed = document.safeParse(stored ?? { credentials: {} });
        if (!parsed.success) throw new OmicronError('secrets_unavailable', readDocument(stored).fault ?? '');
        const credentials = { ...parsed.data.credentials };
        if (!edit(credentials)) return false;
        if (await write(userId, { ...parsed.data, credentials }, version)) return true;
        await delay(backoffMs(attempt, PAUSE));
      }
      throw secretsUnavailable("Other writers changed the user's credentials at the same time. Try again.");
    });
    turn = next.catch(() => {});
    return next;
  };

  return {
    async read(userId) {
      const { stored } = await read(userId);
      return stored === null ? null : readDocument(stored);
    },
    async put(userId, site, credential) {
      await change(userId, credentials => {
        credentials[site] = credential;
        return true;
      });
    },
    remove: (userId, site) =>
      change(userId, credentials => Object.hasOwn(credentials, site) && delete credentials[site]),
  };
}

const secretsUnavailable = (message: string, cause?: unknown) =>
  new OmicronError('secrets_unavailable', message, { retryAfterSeconds: RETRY_SECONDS, cause });

/** The body may quote what was sent. */
const statusRefused = (status: number) =>
  secretsUnavailable(
    `The vault answered ${status}; ${
      status === 403
        ? "check that the token is valid and its policy allows create, read and update below the mount's data/"
        : status === 503
          ? 'it is sealed or in maintenance'
          : 'see its log'
    }.`,
  );

/** One segment: a user id may hold slashes, and Vault refuses `..` and what does not print. Encoded twice, the second time for the URL. */
const pathOf = (userId: string): string =>
  encodeURIComponent(vaultSecretName(encodeURIComponent(userId).replaceAll('..', '%2E%2E')));
