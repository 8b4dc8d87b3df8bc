import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import Provider from 'oidc-provider';
import { expect, it } from 'vitest';
import { freePort } from '../../../local/free-port.ts';
import { someUser } from '../stack.ts';
import { asIngress } from './as-ingress.ts';
import { GATEWAY, HOST, startGateway, textOf } from './gateway.ts';

const CALLBACK = 'http://127.0.0.1:1/callback';

/** An issuer set up as docs/operations.md says: an API with the gateway's address, the scope `browser`, JWTs, refresh tokens, clients that register. */
async function openIssuer(): Promise<AsyncDisposable & { url: string }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const provider = new Provider(url, {
    scopes: ['openid', 'offline_access', 'browser'],
    features: {
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({ scope: 'browser', audience: GATEWAY, accessTokenFormat: 'jwt' }),
      },
    },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  });
  const server = provider.listen(port, '127.0.0.1');
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

/** A person's browser: keeps cookies, submits each form that it is shown, and stops where the client waits for it. */
async function logIn(at: URL, user: string): Promise<URLSearchParams> {
  const cookies = new Map<string, string>();
  let url = at;
  let body: URLSearchParams | null = null;
  while (!url.href.startsWith(CALLBACK)) {
    const cookie = [...cookies].map(pair => pair.join('=')).join('; ');
    const answer = await fetch(url, { method: body ? 'POST' : 'GET', body, redirect: 'manual', headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const html = await answer.text();
    const next = answer.headers.get('location') ?? /action="([^"]+)"/.exec(html)?.[1];
    if (next === undefined) throw new Error(`neither a form nor a redirect: ${answer.status} ${html}`);
    const [, prompt] = /name="prompt" value="([^"]+)"/.exec(html) ?? [];
    body = prompt === undefined ? null : new URLSearchParams({ prompt, login: user, password: 'any' });
    url = new URL(next, url);
  }
  return url.searchParams;
}

/** The memory of a client that knows the gateway's address alone. */
class Newcomer implements OAuthClientProvider {
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = { redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' };
  /** The answer of the issuer that its person brought back. */
  returned = new URLSearchParams();
  readonly #user: string;
  #information: OAuthClientInformationMixed | undefined;
  #tokens: OAuthTokens | undefined;
  #discovery: OAuthDiscoveryState | undefined;
  #verifier = '';

  constructor(user: string) {
    this.#user = user;
  }
  clientInformation = () => this.#information;
  saveClientInformation(information: OAuthClientInformationMixed) {
    this.#information = information;
  }
  tokens = () => this.#tokens;
  saveTokens(tokens: OAuthTokens) {
    this.#tokens = tokens;
  }
  discoveryState = () => this.#discovery;
  saveDiscoveryState(discovery: OAuthDiscoveryState) {
    this.#discovery = discovery;
  }
  codeVerifier = () => this.#verifier;
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  async redirectToAuthorization(url: URL) {
    this.returned = await logIn(url, this.#user);
  }
}

it('[M7] a client that knows the address alone finds the issuer, registers, has its user log in, and calls', async () => {
  await using issuer = await openIssuer();
  await using gateway = await startGateway({ OMICRON_GATEWAY_ISSUER: issuer.url });
  const stack = await gateway.replica();
  const user = someUser();
  const ingress = asIngress(HOST);
  const authProvider = new Newcomer(user);
  const connect = () => {
    const transport = new StreamableHTTPClientTransport(new URL(GATEWAY), {
      authProvider,
      fetch: (to, init) => {
        const { host, pathname } = new URL(to);
        return host === HOST ? ingress(new URL(pathname, stack.url), init) : fetch(to, init);
      },
    });
    const client = new Client({ name: 'newcomer', version: '1' });
    return { transport, client, connected: client.connect(transport) };
  };
  const stranger = connect();
  await expect(stranger.connected).rejects.toThrow(UnauthorizedError);
  await stranger.transport.finishAuth(authProvider.returned.get('code') ?? '', authProvider.returned.get('iss') ?? '');
  const { client, connected } = connect();
  await connected;
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('browser_navigate');
  const asked = { name: 'browser_snapshot', arguments: { sessionId: 'chat-1' } };
  expect(textOf(await client.callTool(asked))).toBe('runner 1 ran browser_snapshot');
  const { body } = await stack.call('GET', `/internal/browser-sessions?user_id=${user}`);
  expect(body).toMatchObject({ sessions: [{ user_id: user, conversation_id: 'chat-1', status: 'ready' }] });
  await client.close();
});
