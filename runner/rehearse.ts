import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { assignmentClaims, type RedeemAnswer, redeemAnswer } from '../contract/assignment.ts';
import {
  controllerKeys,
  sha256Hex,
  signControllerToken,
  signingKey,
  verifyControllerToken,
} from '../contract/tokens.ts';

const TIMES = 5;

/**
 * Walks the way of an assignment a few times with nothing in it, so that the first real one pays neither for loading
 * fetch and the cryptography nor for code that never ran: a third of the time, measured. Never rejects.
 */
export async function rehearse(ownPort: number, controllerUrl: string): Promise<void> {
  try {
    const { privateKey } = generateKeyPairSync('ed25519');
    const key = await signingKey(JSON.stringify(privateKey.export({ format: 'jwk' })));
    const keys = controllerKeys(JSON.stringify({ keys: [key.publicJwk] }));
    const id = randomUUID();
    const claims = {
      ...{ jti: id, session_id: id, epoch: 1, claim_id: id, runner_id: id, options: { record_video: true } },
      ...{ broker_token: '', mcp_token_sha256: sha256Hex(''), artifacts_prefix: '' },
    };
    const token = await signControllerToken(key, 'rehearsal', claims, { nowMs: 0, seconds: 60 });
    const answer = JSON.stringify({
      ...{ secrets: {}, lease_token: '', artifact_token: '', remaining_ms: 0 },
      ...{ sites: [], egress_credential: '', policy: { version: '', layers: [] } },
    } satisfies RedeemAnswer);
    for (let n = 0; n < TIMES; n += 1) {
      await verifyControllerToken(keys, 'rehearsal', token, assignmentClaims);
      redeemAnswer.parse(JSON.parse(answer));
      // Refused with 401: the token is for nobody here.
      await post(`http://127.0.0.1:${ownPort}/assign`, { token });
    }
    await fetch(`${controllerUrl}/healthz`, { signal: AbortSignal.timeout(2_000) }).then(it => it.arrayBuffer());
  } catch {
    // A rehearsal that fails costs the first assignment some milliseconds, nothing else.
  }
}

async function post(url: string, body: unknown): Promise<void> {
  const signal = AbortSignal.any([new AbortController().signal, AbortSignal.timeout(2_000)]);
  const headers = { authorization: 'Bearer rehearsal', 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), redirect: 'error', signal });
  await answer.text();
}
