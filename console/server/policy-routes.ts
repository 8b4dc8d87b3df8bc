import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { parsePolicy, policyJsonSchema } from '../../contract/policy/document.ts';
import { POLICY_PRESETS } from '../../contract/policy/presets.ts';
import { decideToolCall } from '../../contract/policy/tools.ts';
import { OmicronError } from '../../contract/problem.ts';

const testRequest = z.strictObject({
  /** The document that is being edited, as the deployment's policy. */
  policy: z.unknown(),
  tool: z.string().min(1).max(128),
  arguments: z.record(z.string(), z.unknown()),
  /** Whether the agent has seen web content. */
  untrusted: z.boolean(),
});

/** A session id as a call's argument `sessionId` has it when the caller omits it. */
const EXAMPLE_SESSION = '00000000-0000-4000-8000-000000000000';

/** Facts about policies that need no controller: presets, the schema, and which rule of a document decides a call. */
export function policyToolRoutes(app: FastifyInstance): void {
  app.get('/api/policy-presets', async () => ({
    presets: Object.entries(POLICY_PRESETS).map(([name, { title, policy }]) => ({ name, title, policy })),
  }));

  app.get('/api/policy-schema', async () => policyJsonSchema());

  app.post('/api/policy-test', { config: { role: 'viewer' } }, async request => {
    const parsed = testRequest.safeParse(request.body);
    if (!parsed.success)
      throw new OmicronError('invalid_request', 'A test has a policy, a tool, its arguments and untrusted.');
    const { policy, tool, arguments: callArguments, untrusted } = parsed.data;
    const { action, rule, index, reason } = decideToolCall(
      [{ layer: 'deployment', policy: parsePolicy(policy) }],
      { tool, arguments: callArguments, sessionId: EXAMPLE_SESSION },
      { untrusted },
    );
    return { action, index, reason: rule?.reason ?? reason };
  });
}
