import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { OmicronError, PROBLEM_TYPE } from '../../../contract/problem.ts';
import { digestOfChunk } from '../../../contract/profile-chunks.ts';
import { freePort } from '../../../local/free-port.ts';
import { controllerClient, worthRetrying } from '../../../runner/reporting/controller-client.ts';

const OBJECT = 'ab'.repeat(32);
const chunk = { sha256: digestOfChunk(Buffer.from('a')), bytes: Buffer.from('a') };
const signal = AbortSignal.timeout(60_000);

/** Answers `outdated` calls as a replica of an earlier release does, then as one that has the route. */
async function rollout(outdated: number) {
  let calls = 0;
  const service = createServer((_request, response) => {
    calls += 1;
    if (calls > outdated) return response.end(JSON.stringify({ objects: [OBJECT] }));
    const problem = new OmicronError(
      'route_not_found',
      'See /openapi.json for the routes of this service.',
    ).toProblem();
    return response.writeHead(problem.status, { 'content-type': PROBLEM_TYPE }).end(JSON.stringify(problem));
  });
  await new Promise<void>(done => service.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    service.closeAllConnections();
    service.close();
  });
  return controllerClient(`http://127.0.0.1:${(service.address() as AddressInfo).port}`); // it listens on TCP
}

const outdated = {
  code: 'controller_unreachable',
  message: expect.stringMatching(/does not know \/internal\/\S+: it is of an earlier release than this runner/),
};

it('says which route a controller of an earlier release lacks, and that it is worth another try', async () => {
  const controller = await rollout(Number.POSITIVE_INFINITY);
  for (const call of [
    () => controller.writeProfileChunks('t', 1, [chunk], signal),
    () => controller.readProfileChunks('t', [OBJECT], signal),
    () => controller.profile('t', signal),
  ]) {
    const error: unknown = await call().then(String, error => error);
    expect(error).toMatchObject(outdated);
    expect(worthRetrying(error)).toBe(true);
  }
});

it('goes on with the next replica of a rollout, which has the route', async () => {
  const controller = await rollout(1);
  expect(await controller.writeProfileChunks('t', 1, [chunk], signal)).toEqual([OBJECT]);
});

it('distinguishes a controller that cannot be reached from one that refuses', async () => {
  const gone = controllerClient(`http://127.0.0.1:${await freePort()}`);
  await expect(gone.writeProfileChunks('t', 1, [chunk], signal)).rejects.toMatchObject({
    code: 'controller_unreachable',
    message: expect.stringContaining('could not be reached'),
  });
});
