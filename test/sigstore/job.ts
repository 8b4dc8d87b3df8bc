import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FakeIssuer } from '../fakes/issuer.ts';

export const WORKFLOW = 'https://github.com/example/omicron-browser/.github/workflows/release.yml@refs/tags/v1.2.3';
const [, HOST = '', PATH_AND_REF = ''] = /^(https:\/\/[^/]+)\/(.*)$/.exec(WORKFLOW) ?? [];
const REF = 'refs/tags/v1.2.3';
const COMMIT = 'c0ffee'.padEnd(40, '0');

/** Claims of GitHub about a job: <https://docs.github.com/en/actions/reference/security/oidc>. */
const CLAIMS = {
  scope: undefined,
  job_workflow_ref: PATH_AND_REF,
  job_workflow_sha: COMMIT,
  workflow: 'release',
  workflow_ref: PATH_AND_REF,
  workflow_sha: COMMIT,
  sha: COMMIT,
  ref: REF,
  event_name: 'push',
  repository: 'example/omicron-browser',
  repository_id: '1',
  repository_owner: 'example',
  repository_owner_id: '2',
  repository_visibility: 'public',
  run_id: '3',
  run_attempt: '1',
  runner_environment: 'github-hosted',
};

/** The token of a job of that workflow, with these claims changed. */
export const jobToken = (issuer: FakeIssuer, change: Readonly<Record<string, unknown>> = {}): Promise<string> =>
  issuer.token(`repo:example/omicron-browser:ref:${REF}`, { ...CLAIMS, ...change });

/** The endpoint from which a job of GitHub gets its token, and the variables that it then has. `host` is that of WORKFLOW. */
export async function startJob(issuer: FakeIssuer) {
  const secret = 'secret-of-the-job';
  const server = createServer(async (request, response) => {
    const { searchParams } = new URL(request.url ?? '', HOST);
    const isOurs = request.headers.authorization === `Bearer ${secret}` && searchParams.get('audience') === 'sigstore';
    response.writeHead(isOurs ? 200 : 403, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isOurs ? { value: await jobToken(issuer) } : { message: 'forbidden' }));
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    variables: {
      ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?api-version=2`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: secret,
    },
    [Symbol.asyncDispose]: async () => void server.close().closeAllConnections(),
  };
}
