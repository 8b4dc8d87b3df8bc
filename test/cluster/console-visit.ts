import { SignJWT } from 'jose';
import { FIXTURES } from '../../cluster/fixtures/objects.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { ENV, NAMESPACES, PORTS, SERVICES } from '../../contract/names.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { SECRETS } from '../../manifests/secrets.ts';

/** The console's answers to a person's browser. */
export interface ConsoleVisit {
  /** The page, before anyone has signed in. */
  readonly page: string;
  readonly unsigned: number;
  readonly signIn: number;
  /** Its sessions, as the console's page asks for them. */
  readonly sessions: { readonly sessions: readonly { readonly session_id: string }[] };
}

/** Runs in a pod where people are, for Node.js: the address of the Service, the origin that people open, and their token. */
const SCRIPT = `
const { request } = require('node:http');
const { text } = require('node:stream/consumers');
const [at, origin, token] = process.argv.slice(1);
const ask = (path, { method = 'GET', headers = {}, body } = {}) => new Promise((resolve, reject) =>
  request(at + path, { method, headers: { host: new URL(origin).host, origin, ...headers } }, async answer =>
    resolve({ status: answer.statusCode, headers: answer.headers, body: await text(answer) })).on('error', reject).end(body));
(async () => {
  const { body: page } = await ask('/');
  const { status: unsigned } = await ask('/api/browser-sessions');
  const { status: signIn, headers } = await ask('/api/sign-in', { method: 'POST',
    headers: { 'content-type': 'application/json' }, body: JSON.stringify({ access_token: token }) });
  const cookie = (headers['set-cookie'] ?? []).map(each => each.split(';')[0]).join('; ');
  const { body: sessions } = await ask('/api/browser-sessions', { headers: { cookie } });
  console.log(JSON.stringify({ page, unsigned, signIn, sessions: JSON.parse(sessions) }));
})();
`;

/** Opens the console through its Service and its NetworkPolicy, signed in as this user by a token of the platform. */
export async function visitConsole(user: string): Promise<ConsoleVisit> {
  const { console } = ENVIRONMENTS.local;
  const { namespace, name } = SECRETS.console;
  const secret = ['-n', namespace, 'get', 'secret', name, '-o', `jsonpath={.data.${ENV.consolePlatformSecret}}`];
  const token = await new SignJWT({ sub: user, roles: ['omicron-operator'] })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(console?.platform?.issuer ?? '')
    .setAudience('authenticated')
    .setExpirationTime('1m')
    .sign(Buffer.from(Buffer.from(await kubectl(secret), 'base64').toString()));
  const at = `http://${SERVICES.console}.${NAMESPACES.system}.svc.cluster.local:${PORTS.console}`;
  const node = ['node', '-e', SCRIPT, at, console?.url ?? '', token];
  return JSON.parse(await kubectl(['-n', FIXTURES, 'exec', 'deployment/sites', '--', ...node]));
}
