import type { FastifySchemaCompiler } from 'fastify';
import { type FastifyPluginAsyncZod, validatorCompiler } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { parsePolicy, policyDocument } from '../../contract/policy/document.ts';
import type { PolicyLayer } from '../../contract/policy/sites.ts';
import { refuseUnheldPolicy } from '../lease/provider-limits.ts';
import type { ProviderCapabilities } from '../ports/runners.ts';
import type { Policies } from '../store/policies.ts';

/** `parsePolicy` reads the body, and names the path to each fault; its schema is for the document. */
const bodyAsItIs: FastifySchemaCompiler<unknown> = part =>
  part.httpPart === 'body'
    ? value => ({ value })
    : validatorCompiler({ ...part, schema: part.schema as z.core.$ZodType }); // every schema here is

const answer = z
  .object({ policy: policyDocument.nullable().describe('Policy of the layer; null: none is set.') })
  .meta({ id: 'PolicyAnswer' });

export interface PolicyLayerParts<Params extends z.ZodObject> {
  layer: PolicyLayer;
  params: Params;
  /** The owner of the policy that a request is about. Throws when its token may not touch that. */
  subjectOf: (params: z.output<Params>, userId: string | null) => Promise<string> | string;
  policies: Policies;
  /** Rules to which the deployment's browsers can be held. */
  capabilities: ProviderCapabilities;
}

/** One layer's document: read, replace, delete. */
export const policyLayerRoutes = <Params extends z.ZodObject>(
  parts: PolicyLayerParts<Params>,
): FastifyPluginAsyncZod => {
  const { layer, params, policies } = parts;
  const name = `${layer[0]?.toUpperCase()}${layer.slice(1)}Policy`;
  const subjectOf = async ({ params, userId }: { params: unknown; userId: string | null }) =>
    parts.subjectOf(params as z.output<Params>, userId); // parsed by the route

  return async app => {
    app.get(
      '',
      {
        schema: {
          operationId: `get${name}`,
          summary: `The ${layer}'s policy, null when none is set`,
          params,
          response: { 200: answer },
        },
      },
      async request => ({ policy: await policies.get(layer, await subjectOf(request)) }),
    );

    app.put(
      '',
      {
        schema: {
          operationId: `put${name}`,
          summary: `Replaces the ${layer}'s policy; running leases obey it within seconds`,
          params,
          body: policyDocument,
          response: { 200: answer },
        },
        validatorCompiler: bodyAsItIs,
      },
      async request => {
        const subject = await subjectOf(request);
        const policy = parsePolicy(request.body);
        refuseUnheldPolicy(policy, parts.capabilities);
        await policies.put(layer, subject, policy);
        return { policy };
      },
    );

    app.delete(
      '',
      {
        schema: {
          operationId: `delete${name}`,
          summary: `Deletes the ${layer}'s policy; repeating it changes nothing`,
          params,
          response: { 204: z.null() },
        },
      },
      async (request, reply) => {
        await policies.remove(layer, await subjectOf(request));
        return reply.status(204).send(null);
      },
    );
  };
};
