import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { AUDIENCES } from '../../contract/names.ts';
import { verifyServiceToken } from '../../contract/tokens.ts';

const KEY = new TextEncoder().encode('k'.repeat(32));

test('a token whose user is a number says which claim is wrong, and how it is written', async () => {
  const token = await new SignJWT({ user_id: 42 })
    .setProtectedHeader({ alg: 'HS256' })
    .setAudience(AUDIENCES.controller)
    .setExpirationTime('30s')
    .sign(KEY);
  await expect(verifyServiceToken(KEY, token)).rejects.toThrow(
    /its claim "user_id" is wrong \(expected string, received number\): a "user_id" is a text such as "42"/,
  );
});
