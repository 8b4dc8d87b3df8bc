import * as z from 'zod';
import { coveringPattern, hostPattern } from './hosts.ts';

/** From the widest to the most specific. */
export const POLICY_LAYERS = ['deployment', 'user', 'session'] as const;
export type PolicyLayer = (typeof POLICY_LAYERS)[number];

/** Ports that are open while no layer names any. */
export const DEFAULT_PORTS = [80, 443] as const;

export const siteRules = z
  .strictObject({
    allow: z
      .array(hostPattern)
      .max(1000)
      .optional()
      .describe('If present, only hosts that it covers may be reached; an empty list closes everything.'),
    deny: z
      .array(hostPattern)
      .max(1000)
      .optional()
      .describe('Hosts that are never reached, even if a layer allows them.'),
    httpsOnly: z.boolean().optional().describe('Refuses http:// and ws://; a tunnel must carry TLS.'),
    ports: z
      .array(z.int().min(1).max(65_535))
      .min(1)
      .max(64)
      .optional()
      .describe('Ports that may be reached; 80 and 443 when no layer names any.'),
  })
  .meta({ id: 'SiteRules' });
export type SiteRules = z.infer<typeof siteRules>;

export interface SiteLayer {
  readonly layer: PolicyLayer;
  readonly sites: SiteRules;
}

/** `tunnel`: its content is not known yet (CONNECT). `host` is canonical. */
export interface SiteRequest {
  readonly scheme: 'http' | 'https' | 'tunnel';
  readonly host: string;
  readonly port: number;
}

export type SiteVerdict =
  | {
      readonly allowed: true;
      readonly rule: string | null;
      readonly layer: PolicyLayer | null;
      readonly tlsOnly: boolean;
    }
  | {
      readonly allowed: false;
      readonly code: 'site_denied' | 'site_not_allowed' | 'https_only' | 'port_refused';
      readonly layer: PolicyLayer | null;
      /** The pattern that decided, when one did. */
      readonly rule: string | null;
      readonly reason: string;
    };

export type SiteJudge = (request: SiteRequest) => SiteVerdict;

/** Compiles the layers once; each verdict then costs one lookup per label of the host and layer. */
export function compileSites(layers: readonly SiteLayer[]): SiteJudge {
  const byNarrowest = [...layers]
    .sort((a, b) => POLICY_LAYERS.indexOf(b.layer) - POLICY_LAYERS.indexOf(a.layer))
    .map(({ layer, sites }) => ({
      layer,
      deny: new Set(sites.deny ?? []),
      allow: sites.allow && new Set(sites.allow),
      httpsOnly: sites.httpsOnly === true,
      ports: sites.ports && new Set(sites.ports),
    }));
  const tlsLayer = byNarrowest.find(layer => layer.httpsOnly)?.layer;
  const portsNamed = byNarrowest.some(layer => layer.ports);
  const refuse = (
    code: Extract<SiteVerdict, { allowed: false }>['code'],
    layer: PolicyLayer | null,
    rule: string | null,
    reason: string,
  ): SiteVerdict => ({ allowed: false, code, layer, rule, reason });

  return ({ scheme, host, port }) => {
    for (const { layer, deny } of byNarrowest) {
      const rule = coveringPattern(deny, host);
      if (rule !== undefined)
        return refuse('site_denied', layer, rule, `the ${layer} policy denies ${rule}, which covers ${host}`);
    }
    let opened: { layer: PolicyLayer; rule: string } | undefined;
    for (const { layer, allow } of byNarrowest) {
      if (allow === undefined) continue;
      const rule = coveringPattern(allow, host);
      if (rule === undefined)
        return refuse(
          'site_not_allowed',
          layer,
          null,
          `the ${layer} policy has an allow list that does not cover ${host}`,
        );
      opened ??= { layer, rule };
    }
    if (tlsLayer !== undefined && (scheme === 'http' || (scheme === 'tunnel' && port === 80)))
      return refuse('https_only', tlsLayer, null, `the ${tlsLayer} policy allows https only`);
    const shut = portsNamed
      ? byNarrowest.find(({ ports }) => ports !== undefined && !ports.has(port))
      : DEFAULT_PORTS.some(open => open === port)
        ? undefined
        : { layer: null };
    if (shut)
      return refuse(
        'port_refused',
        shut.layer,
        null,
        shut.layer
          ? `the ${shut.layer} policy does not open port ${port}`
          : `port ${port} is open only where a policy names it`,
      );
    return { allowed: true, rule: opened?.rule ?? null, layer: opened?.layer ?? null, tlsOnly: tlsLayer !== undefined };
  };
}
