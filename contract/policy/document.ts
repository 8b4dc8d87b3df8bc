import * as z from 'zod';
import { OmicronError } from '../problem.ts';
import { isStorable } from '../storable.ts';
import { condition, patternOf } from './conditions.ts';
import { credentialRules } from './credentials.ts';
import { patternFaults } from './pattern-faults.ts';
import { POLICY_LAYERS, type PolicyLayer, siteRules } from './sites.ts';

const toolPattern = z
  .string()
  .regex(/^[A-Za-z0-9_.*/-]{1,128}$/, 'must be a tool name such as browser_navigate, or a pattern such as browser_*');

export const TOOL_ACTIONS = ['allow', 'block_always', 'allow_when_context_is_untrusted'] as const;
export type ToolAction = (typeof TOOL_ACTIONS)[number];

export const toolRule = z
  .strictObject({
    tools: z.array(toolPattern).min(1).max(100).describe('Names of tools, `*` standing for any run of characters.'),
    except: z.array(toolPattern).max(100).optional().describe('Exceptions to `tools`.'),
    when: z
      .array(condition)
      .max(20)
      .default([])
      .describe('Conditions that must all hold; no condition holds always. Write two rules for "or".'),
    action: z
      .enum(TOOL_ACTIONS)
      .describe(
        '`block_always`: refused, even if a rule of any layer allows it. `allow`: allowed; while the context holds untrusted content only if `defaults.untrustedContext` lets it. `allow_when_context_is_untrusted`: allowed, with or without untrusted content in the context.',
      ),
    reason: z.string().min(1).max(500).optional().describe('Text shown to the agent when the rule decides.'),
  })
  .meta({ id: 'ToolRule' });
export type ToolRule = z.infer<typeof toolRule>;

/** Checks patterns although another part of the document has a fault: all faults are named at once. */
const BESIDE_OTHER_FAULTS = {
  when: ({ issues }: { issues: readonly { path?: readonly PropertyKey[] | undefined }[] }) =>
    issues.every(({ path = [] }) => path.length > 0 && path[0] !== 'tools'),
};

/** Rights of a session; stored per deployment, per user and per session. */
export const policyDocument = z
  .strictObject({
    $schema: z.string().max(500).optional().describe('Address of the JSON Schema, for editors; ignored.'),
    version: z.literal(1).describe('Version of the format.'),
    tools: z.array(toolRule).max(500).default([]).describe('Rules for calls of tools.'),
    sites: siteRules
      .default({})
      .describe('Sites that may be reached. Every layer that has rules must agree: none can open what another closes.'),
    credentials: credentialRules
      .default({})
      .describe('Places where the credential of each site key may be filled: https origins and registrable domains.'),
    defaults: z
      .strictObject({
        tools: z
          .enum(['allow', 'block_always'])
          .optional()
          .describe('Decision for calls that no rule of any layer matches.'),
        untrustedContext: z
          .enum(['allow', 'block'])
          .optional()
          .describe(
            'Whether plain `allow` is enough once untrusted web content is in the context; one `block` of any layer closes it.',
          ),
      })
      .default({})
      .describe('Decisions where no rule decides.'),
  })
  .superRefine(({ tools }, context) => {
    const patterns = tools.flatMap(({ when }, i) =>
      when.flatMap((rule, j) => {
        const pattern = patternOf(rule);
        return pattern === null ? [] : [{ pattern, path: ['tools', i, 'when', j, 'value'] }];
      }),
    );
    for (const fault of patternFaults(patterns)) context.addIssue({ code: 'custom', ...fault });
  }, BESIDE_OTHER_FAULTS)
  .superRefine((policy, context) => {
    const path = pathOfUnstorable(policy);
    if (path !== undefined)
      context.addIssue({ code: 'custom', path, message: 'must be well-formed Unicode without the character U+0000' });
  }, BESIDE_OTHER_FAULTS)
  .meta({ id: 'Policy', title: 'omicron-browser policy' });
export interface PolicyDocument extends z.infer<typeof policyDocument> {}

/** The path of the first text that no store keeps, keys among them. */
function pathOfUnstorable(value: unknown): (string | number)[] | undefined {
  if (typeof value === 'string') return isStorable(value) ? undefined : [];
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, held] of Object.entries(value)) {
    const inner = pathOfUnstorable(key) ?? pathOfUnstorable(held);
    if (inner !== undefined) return [Array.isArray(value) ? Number(key) : key, ...inner];
  }
  return undefined;
}

export interface LayeredPolicy {
  readonly layer: PolicyLayer;
  readonly policy: PolicyDocument;
}

/** The policy of a lease. */
export const effectivePolicy = z
  .object({
    version: z.string().describe('Version that changes whenever any layer does.'),
    layers: z
      .array(
        z.object({
          layer: z.enum(POLICY_LAYERS).describe('Scope of the policy.'),
          policy: policyDocument.describe('Policy of the layer.'),
        }),
      )
      .describe('Layers that are set, widest first.'),
  })
  .meta({ id: 'EffectivePolicy' });
export interface EffectivePolicy extends z.infer<typeof effectivePolicy> {}

const formatPath = (path: readonly PropertyKey[]): string =>
  path.map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i === 0 ? '' : '.'}${String(step)}`)).join('');

/**
 * Parses a policy document; throws `invalid_request` whose `errors` name the path of each error
 * (`tools[2].when[0].value`).
 */
export function parsePolicy(input: unknown): PolicyDocument {
  const parsed = policyDocument.safeParse(input);
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map(issue => ({
    path: formatPath(issue.path) || '(document)',
    message: issue.message,
  }));
  const [first] = errors;
  throw new OmicronError('invalid_request', `Invalid policy: ${first?.path} ${first?.message}.`, { errors });
}

/** The published JSON Schema (`docs/policy.schema.json`): of the input, not of the parsed document. */
export const policyJsonSchema = (): unknown => z.toJSONSchema(policyDocument, { io: 'input', target: 'draft-2020-12' });
