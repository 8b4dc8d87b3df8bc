import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** An OpenID Connect provider whose person is always signed in: code flow, with PKCE demanded. */
export interface FakeIdentityProvider extends AsyncDisposable {
  readonly url: string;
  readonly client: { readonly id: string; readonly secret: string };
  /** Claims of the person who signs in next. */
  person: JWTPayload;
  /** Signs what only the provider can say. */
  sign(claims: JWTPayload): Promise<string>;
}

const textOf = async (request: IncomingMessage) => {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
};

export async function fakeIdentityProvider(): Promise<FakeIdentityProvider> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' };
  const client = { id: 'console', secret: 'the-secret-of-the-client' };
  const codes = new Map<string, { challenge: string; nonce: string; person: JWTPayload }>();
  function sign(claims: JWTPayload): Promise<string> {
    const iat = Math.floor(Date.now() / 1_000);
    return new SignJWT({ iss: url, aud: client.id, jti: randomUUID(), iat, exp: iat + 120, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .sign(privateKey);
  }

  const server = createServer(async (request, response) => {
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const at = new URL(request.url ?? '', url);
    switch (at.pathname) {
      case '/.well-known/openid-configuration':
        return json(200, {
          ...{ issuer: url, authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token` },
          ...{ jwks_uri: `${url}/.well-known/jwks.json`, response_types_supported: ['code'] },
          ...{ subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['ES256'] },
          code_challenge_methods_supported: ['S256'],
        });
      case '/.well-known/jwks.json':
        return json(200, { keys: [jwk] });
      case '/authorize': {
        const asked = (name: string) => at.searchParams.get(name) ?? '';
        if (asked('code_challenge_method') !== 'S256') return json(400, { error: 'invalid_request' });
        const code = randomUUID();
        codes.set(code, { challenge: asked('code_challenge'), nonce: asked('nonce'), person: provider.person });
        const back = new URL(asked('redirect_uri'));
        back.search = String(new URLSearchParams({ code, state: asked('state'), iss: url }));
        return response.writeHead(302, { location: back.href }).end();
      }
      case '/token': {
        const form = new URLSearchParams(await textOf(request));
        const known = codes.get(form.get('code') ?? '');
        codes.delete(form.get('code') ?? '');
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url');
        if (known?.challenge !== challenge || form.get('client_secret') !== client.secret)
          return json(400, { error: 'invalid_grant' });
        const id_token = await sign({ nonce: known.nonce, ...known.person });
        return json(200, { access_token: randomUUID(), token_type: 'Bearer', expires_in: 60, id_token });
      }
      default:
        return json(404, {});
    }
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  const provider: FakeIdentityProvider = {
    ...{ url, client, person: {}, sign },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
  return provider;
}
