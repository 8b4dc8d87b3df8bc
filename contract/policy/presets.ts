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

/** Default policies for an installation (P4), to be copied into the deployment's document. */
export const POLICY_PRESETS = {
  'chain-allowlist': {
    title: 'Let browser tools chain within a session, and nothing else once web content was read',
    policy: preset({
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
  'ssrf-block': {
    title: 'Block internal networks, cloud metadata and local files',
    policy: preset({
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
    policy: preset({
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

function preset(document: object): PolicyDocument {
  return policyDocument.parse({ version: 1, ...document });
}
