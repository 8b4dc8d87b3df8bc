import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import type { HttpAnswer, HttpCall } from '../../http/call.ts';
import { type ApiCall, problemClient } from '../../http/problem-client.ts';

const peer = {
  url: 'http://peer.test/',
  name: 'The controller',
  unreachable: 'controller_unreachable',
  garbled: 'internal_error',
  statuses: { 404: 'lease_ended' },
} as const;
const get = { method: 'GET', path: '/things', answer: z.object({ n: z.int() }), timeoutMs: 5_000 } as const;

/** A client whose every call is answered so. */
const answering = (answer: Partial<HttpAnswer>) =>
  problemClient(peer, async () => ({ status: 200, retryAfter: undefined, text: '{"n":1}', ...answer }));

const errorOf = (work: Promise<unknown>): Promise<OmicronError> =>
  work.then(
    () => Promise.reject(new Error('it was answered')),
    error => (error instanceof OmicronError ? error : Promise.reject(error)),
  );

const problem = (code: string, more: object = {}) =>
  JSON.stringify({ type: 'x', title: 'x', status: 409, code, detail: 'Wait for it.', ...more });

describe('a call of a problem API', () => {
  it('sends method, query, token and JSON body, and parses the answer', async () => {
    const sent: Parameters<HttpCall>[] = [];
    const call = problemClient(peer, async (...args) => {
      sent.push(args);
      return { status: 200, retryAfter: '7', text: '{"n":2}' };
    });
    const query = { tag: ['a', 'b c'], limit: 3, gone: undefined };
    const answered = await call({ ...get, method: 'PUT', query, token: 't', body: { x: 1 } });
    expect(answered).toEqual({ value: { n: 2 }, retryAfterSeconds: 7 });
    expect(sent[0]?.slice(0, 2)).toEqual([
      'http://peer.test/things?tag=a&tag=b+c&limit=3',
      {
        method: 'PUT',
        headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
        body: '{"x":1}',
      },
    ]);
  });

  it('throws the problem of the peer, with what it says of the next attempt', async () => {
    const error = await errorOf(
      answering({ status: 429, retryAfter: '9', text: problem('capacity_exceeded', { limit: 3, active: 3 }) })(get),
    );
    expect(error).toMatchObject({
      code: 'capacity_exceeded',
      message: 'Wait for it.',
      retryAfterSeconds: 9,
      extra: { limit: 3, active: 3 },
    });
  });

  it('keeps the code of a newer peer in the message', async () => {
    const error = await errorOf(answering({ status: 409, text: problem('of_the_future') })(get));
    expect(error).toMatchObject({ code: 'internal_error', message: 'of_the_future: Wait for it.' });
  });

  it.each([
    [404, 'lease_ended'],
    [418, 'internal_error'],
    [429, 'controller_unreachable'],
    [502, 'controller_unreachable'],
  ])('trusts only the status %i when the answer is no problem document: %s', async (status, code) => {
    const error = await errorOf(answering({ status, text: '<html>', retryAfter: '2' })(get));
    expect(error).toMatchObject({ code, retryAfterSeconds: 2 });
    expect(error.message).toContain('http://peer.test');
  });

  it.each(['<html>', '{"n":"one"}', ''])('does not take %j for an answer', async text => {
    const error = await errorOf(answering({ text })(get));
    expect(error.code).toBe('internal_error');
    expect(error.message).toContain('GET /things was not understood; check the URL');
  });

  it('reads the date form of Retry-After', async () => {
    const retryAfter = new Date(Date.now() + 60_000).toUTCString();
    const error = await errorOf(answering({ status: 503, text: '', retryAfter })(get));
    expect(error.retryAfterSeconds).toBeGreaterThan(50);
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(60);
  });
});

describe('a peer that gives no answer', () => {
  const refused = problemClient(peer, () => Promise.reject(new Error('ECONNREFUSED')));
  /** Answers nothing until the call's signal aborts. */
  const silent = problemClient(
    peer,
    (_url, _request, signal) =>
      new Promise((_resolve, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  );
  const call: ApiCall<unknown> = { ...get, timeoutMs: 5 };

  it('is unreachable', async () => {
    const error = await errorOf(refused(get));
    expect(error).toMatchObject({
      code: 'controller_unreachable',
      message: 'The controller could not be reached at http://peer.test; check that it runs there.',
    });
  });

  it('is unreachable when its time is over', async () => {
    const error = await errorOf(silent(call));
    expect(error.message).toBe(
      'The controller at http://peer.test did not answer within 1 s; check that it runs there.',
    );
  });

  it('throws the reason of the caller who gave up', async () => {
    const reason = new Error('the chat was closed');
    await expect(silent({ ...get, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
