import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { vaultSecretName } from '../../contract/secrets.ts';
import type { SecretStore } from '../ports/secrets.ts';
import { checkedSupabaseUrl } from './supabase-url.ts';
import { CHANGE, documentReader, MISSING, noFunctions } from './vault-functions.ts';

const TIMEOUT_MS = 5_000;
const RETRY_SECONDS = 2;

/**
 * Supabase Vault over PostgREST's rpc with the service role key, which never leaves the controller (O8).
 * <https://postgrest.org/en/stable/references/api/functions.html>. Throws an Error for a URL that would send the key in clear.
 */
export function vaultRestSecrets(options: {
  url: string;
  /** `off`: http to another host is allowed. */
  tls?: 'verify' | 'off';
  serviceRoleKey: string;
}): SecretStore {
  const url = checkedSupabaseUrl(options.url, options.tls);
  const rpc = async (name: string, body: Record<string, unknown>): Promise<unknown> => {
    let response: Response;
    try {
      response = await fetch(new URL(`rest/v1/rpc/${name}`, url), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          apikey: options.serviceRoleKey,
          authorization: `Bearer ${options.serviceRoleKey}`,
        },
        body: JSON.stringify(body),
        redirect: 'error', // the key goes to this host alone
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (response.ok) return await response.json();
    } catch (cause) {
      throw new OmicronError(
        'secrets_unavailable',
        'The vault cannot be reached, so no secrets were redeemed. Try again.',
        {
          retryAfterSeconds: RETRY_SECONDS,
          cause,
        },
      );
    }
    if (response.status === 404) return MISSING;
    // the body may quote what was sent
    throw new OmicronError(
      'secrets_unavailable',
      `The vault answered ${response.status}; ${response.status === 401 || response.status === 403 ? 'check the service role key' : "check that the user's document is JSON"}.`,
      { retryAfterSeconds: RETRY_SECONDS },
    );
  };
  const change = async (body: Record<string, unknown>): Promise<boolean> => {
    const changed = await rpc(CHANGE, body);
    if (changed === MISSING) throw noFunctions();
    return z.boolean().parse(changed);
  };
  return {
    read: documentReader((name, secretName) => rpc(name, { secret_name: secretName })),
    async put(userId, site, credential) {
      await change({ secret_name: vaultSecretName(userId), site, credential });
    },
    remove: (userId, site) => change({ secret_name: vaultSecretName(userId), site, credential: null }),
  };
}
