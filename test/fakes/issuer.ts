import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

type Key = Awaited<ReturnType<typeof generateKeyPair>>['publicKey'];

/** An OIDC issuer: its discovery document, its keys, and the access tokens that it signs. */
export interface FakeIssuer extends AsyncDisposable {
  readonly url: string;
  /** The public key, as PEM and in the JWKS. */
  readonly publicKey: Key;
  /** A token of a user for the gateway, with these claims changed; `undefined` takes one away. */
  token(user: string, change?: JWTPayload): Promise<string>;
  /** How many requests it was sent. */
  requests(): number;
  /** Answers 500 from now on. */
  fail(): void;
}

export async function fakeIssuer(audience: string): Promise<FakeIssuer> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' };
  let requests = 0;
  let fails = false;
  const server = createServer((request, response) => {
    requests += 1;
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': {
        issuer: url,
        jwks_uri: `${url}/keys`,
        id_token_signing_alg_values_supported: ['ES256'],
      },
      '/keys': { keys: [jwk] },
    };
    const found = documents[request.url ?? ''];
    response.writeHead(fails ? 500 : found ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(fails ? {} : (found ?? {})));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  return {
    url,
    publicKey,
    requests: () => requests,
    fail() {
      fails = true;
    },
    async token(user, change = {}) {
      const nowSeconds = Math.floor(Date.now() / 1000);
      const claims: JWTPayload = {
        iss: url,
        aud: audience,
        sub: user,
        scope: 'openid browser',
        iat: nowSeconds,
        exp: nowSeconds + 300,
        ...change,
      };
      return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: 'at+jwt' }).sign(privateKey);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
