import type { RouteOptions } from 'fastify';
import { PROBLEM_TYPE, problemSchema } from '../../contract/problem.ts';

/** Answer of every route to a request that fails. */
export const problemAnswer = {
  description: 'A problem document (RFC 9457)',
  content: { [PROBLEM_TYPE]: { schema: problemSchema } },
};

/**
 * An `onRoute` hook: every route of its plugin takes this scheme's token, is listed under this tag, and answers errors as problem documents.
 */
export const describeRoutes = (scheme: 'service' | 'runner' | 'egress', tag: string) => (route: RouteOptions) => {
  const response = { ...(route.schema?.response ?? {}), '4xx': problemAnswer, '5xx': problemAnswer };
  route.schema = { ...route.schema, security: [{ [scheme]: [] }], tags: [tag], response };
};
