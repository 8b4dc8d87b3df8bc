import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { redeemAnswer } from '../../../contract/assignment.ts';
import { leaseKey } from '../../../contract/lease-key.ts';
import { AUDIENCES } from '../../../contract/names.ts';
import { knownSites } from '../../../contract/policy/well-known-sites.ts';
import { OmicronError } from '../../../contract/problem.ts';
import type { VaultDocument } from '../../../contract/secrets.ts';
import { controllerKeys, signingKey, verifyControllerToken } from '../../../contract/tokens.ts';
import { AwaitedRedemptions } from '../../../controller/lease/awaited-redemptions.ts';
import { type RedeemParts, redeemLease } from '../../../controller/lease/redeem.ts';
import type { Redemption } from '../../../controller/store/broker.ts';

const signing = signingKey(JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })));
const lease = { session_id: randomUUID(), epoch: 2, runner_id: randomUUID() };
const claims = { ...lease, claim_id: randomUUID(), boot_id: randomUUID(), user_id: 'ada', options: {} };
const NOW_MS = 1_800_000_000_000;
const redeemed: Redemption = {
  outcome: 'redeemed',
  userId: 'ada',
  policy: { version: 'p1', layers: [] },
  remainingMs: 599_000,
  endsInSeconds: 28_800,
  nowMs: NOW_MS,
  restores: false,
  session: null,
};

/** Parts that redeeming needs, and the steps in their order. */
function parts(outcome: Redemption, credentials: VaultDocument['credentials'] | null = null) {
  const steps: string[] = [];
  const made: RedeemParts = {
    keys: { signing, derivation: new Uint8Array(32) },
    redemptions: new AwaitedRedemptions(),
    knownSites: knownSites({ mail: ['mail.example'] }, false),
    broker: {
      async redeem() {
        steps.push('redeem');
        return outcome;
      },
    } as unknown as RedeemParts['broker'], // the rest is not called
    secrets: {
      async read(userId) {
        steps.push(`read ${userId}`);
        return credentials && { credentials, unusable: {} };
      },
    } as RedeemParts['secrets'], // the rest is not called
  };
  return { made, steps };
}

it('hands out the secrets of the claim’s user, the sites with a TOTP seed, policy and time', async () => {
  const { made, steps } = parts(redeemed, {
    shop: { username: 'ada', password: 'p', totp: 'JBSWY3DPEHPK3PXP', url: 'shop.example' },
    mail: { username: 'a', password: 'q' },
  });
  const answer = redeemAnswer.parse(await redeemLease(made, claims, NOW_MS));
  expect(answer).toMatchObject({
    secrets: { SHOP_USERNAME: 'ada', SHOP_PASSWORD: 'p', MAIL_USERNAME: 'a', MAIL_PASSWORD: 'q' },
    sites: [
      { site: 'shop', totp: true, targets: ['shop.example'] },
      { site: 'mail', totp: false, known: ['mail.example'] },
    ],
    policy: redeemed.policy,
    remaining_ms: 599_000,
  });
  expect(answer.egress_credential).not.toBe(answer.upload_credential);
  // a store that fails must not cost the one redemption
  expect(steps).toEqual(['read ada', 'redeem']);
  expect(JSON.stringify(answer)).not.toContain('JBSWY3DPEHPK3PXP');
});

it('signs a lease token until the lease ends, and an artifact token for a day longer', async () => {
  const answer = await redeemLease(parts(redeemed).made, claims, NOW_MS);
  const keys = controllerKeys(JSON.stringify({ keys: [signing.publicJwk] }));
  const secondsOf = async (audience: string, token: string) => {
    const verified = await verifyControllerToken(keys, audience, token, leaseKey);
    expect(verified.claims).toEqual(lease);
    return (verified.expMs - NOW_MS) / 1000;
  };
  expect(await secondsOf(AUDIENCES.lease, answer.lease_token)).toBe(28_800);
  expect(await secondsOf(AUDIENCES.artifacts, answer.artifact_token)).toBe(28_800 + 24 * 3600);
});

it('answers a user without credentials with none', async () => {
  expect(await redeemLease(parts(redeemed).made, claims, NOW_MS)).toMatchObject({ secrets: {}, sites: [] });
});

it('asks to try again while the previous runner may still act', async () => {
  await expect(redeemLease(parts({ outcome: 'wait' }).made, claims, NOW_MS)).rejects.toMatchObject({
    code: 'predecessor_draining',
    retryAfterSeconds: 1,
  });
});

it.each<[string, Redemption]>([
  ['a claim that is over', { outcome: 'refused', why: 'claim ended' }],
  ['a session of another user', { ...redeemed, userId: 'bob' }],
])('refuses %s', async (_what, outcome) => {
  const error = await redeemLease(parts(outcome).made, claims, NOW_MS).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(OmicronError);
  expect(error).toMatchObject({ code: 'redemption_refused' });
});

it('reads no credential for a lease that asks for none', async () => {
  const { made, steps } = parts(redeemed, { shop: { username: 'ada', password: 'p' } });
  const answer = await redeemLease(made, { ...claims, options: { credentials: false } }, NOW_MS);
  expect(answer).toMatchObject({ secrets: {}, sites: [], remaining_ms: 599_000 });
  expect(steps).toEqual(['redeem']);
});
