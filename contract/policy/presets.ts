import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { type PolicyDocument, policyDocument } from './document.ts';

/**
 * Session ids as the compatible tools know them (`browser-<profile>-<time>`) and as this system makes them (UUID).
 */
export const SESSION_ID_PATTERN =
  '^(browser-[a-f0-9-]+-[0-9]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$';

/**
 * A readable first refusal of internal addresses. The boundary is the egress proxy, which checks every address that
 * is dialled and refuses spellings that only look public.
 */
const INTERNAL_HOST = [
  String.raw`(?i)^\s*(?:[a-z][a-z0-9+.-]*:[/\\]*)?(?:[^/?#\\@]*@)?(?:`,
  String.raw`(?:[^/?#\\@:]*\.)?(?:localhost|local|internal|svc|cluster\.local)\.?(?:[:/?#\\]|$)`,
  String.raw`|(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2[0-9]|3[01])|100\.(?:6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7]))\.[0-9]`,
  String.raw`|[0-9]+(?:[:/?#\\]|$)|0x[0-9a-f]+|\[|metadata\.(?:google|aws)`,
  ')',
].join('');

const NAVIGATION = ['browser_navigate', 'browser_open', 'browser_tabs'];

/** Default policies for an installation (P4), to take or to leave. */
export const POLICY_PRESETS = {
  'chain-allowlist': {
    title: 'Let browser tools chain within a session, and nothing else once web content was read',
    policy: parsePreset({
      tools: [
        {
          tools: ['browser_*'],
          when: [{ path: 'sessionId', operator: 'regex', value: SESSION_ID_PATTERN }],
          action: 'allow_when_context_is_untrusted',
          reason: 'Browser tools of a valid session may be chained.',
        },
      ],
      defaults: { untrustedContext: 'block' },
    }),
  },
  ssrf: {
    title: 'Block internal networks, cloud metadata and local files',
    policy: parsePreset({
      tools: [
        {
          tools: NAVIGATION,
          when: [{ path: 'url', operator: 'regex', value: INTERNAL_HOST }],
          action: 'block_always',
          reason: 'Internal networks and cloud metadata may not be visited (SSRF protection).',
        },
        {
          tools: NAVIGATION,
          when: [
            {
              path: 'url',
              operator: 'regex',
              value: '(?i)^\\s*(file|view-source|chrome|devtools|ftp|javascript|data|blob):',
            },
          ],
          action: 'block_always',
          reason: 'Only web addresses may be visited.',
        },
      ],
    }),
  },
  'https-only': {
    title: 'Visit encrypted sites only',
    policy: parsePreset({
      tools: [
        {
          tools: NAVIGATION,
          when: [{ path: 'url', operator: 'regex', value: String.raw`(?i)^\s*(http|ws):` }],
          action: 'block_always',
          reason: 'Only encrypted connections are allowed: write https://.',
        },
      ],
      sites: { httpsOnly: true },
    }),
  },
} as const satisfies Record<string, { title: string; policy: PolicyDocument }>;

export type PolicyPreset = keyof typeof POLICY_PRESETS;
export const PRESET_NAMES = Object.keys(POLICY_PRESETS) as [PolicyPreset, ...PolicyPreset[]]; // `Object.keys` forgets the names
/** Names of presets, each once. */
export const presetNames = z.array(z.enum(PRESET_NAMES)).max(PRESET_NAMES.length);

/** A document with presets, and how many of their rules and settings it did not have, and had. */
export interface WithPresets {
  readonly policy: PolicyDocument;
  readonly created: number;
  readonly skipped: number;
}

/** Adds what presets say to a document, which keeps its own rules, and its own settings where a preset has another. */
export function withPresets(before: PolicyDocument | null, names: readonly PolicyPreset[]): WithPresets {
  let policy = before ?? parsePreset({});
  let created = 0;
  let skipped = 0;
  const add = (isThere: boolean, changed: Partial<PolicyDocument>) => {
    if (isThere) skipped += 1;
    else {
      policy = { ...policy, ...changed };
      created += 1;
    }
  };
  for (const name of names) {
    const { tools, sites, defaults }: PolicyDocument = POLICY_PRESETS[name].policy;
    for (const rule of tools)
      add(
        policy.tools.some(own => isDeepStrictEqual(own, rule)),
        { tools: [...policy.tools, rule] },
      );
    for (const [setting, value] of Object.entries(sites))
      add(Object.hasOwn(policy.sites, setting), { sites: { ...policy.sites, [setting]: value } });
    for (const [setting, value] of Object.entries(defaults))
      add(Object.hasOwn(policy.defaults, setting), { defaults: { ...policy.defaults, [setting]: value } });
  }
  return { policy, created, skipped };
}

function parsePreset(document: object): PolicyDocument {
  return policyDocument.parse({ version: 1, ...document });
}
