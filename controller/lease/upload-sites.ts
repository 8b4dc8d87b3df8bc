import { createHash } from 'node:crypto';
import type { SiteRules } from '../../contract/policy/sites.ts';

/** Everything that uploaders may reach. `version` changes with it. */
export interface UploadSites {
  readonly version: string;
  readonly sites: SiteRules;
}

/**
 * The site rules of uploaders, from the addresses of the artifact store
 * (`https://<bucket>.s3.<region>.amazonaws.com`) and of the service that issues credentials for it. Null without any:
 * then uploaders reach nothing.
 */
export function uploadSites(endpoints: readonly string[]): UploadSites | null {
  if (endpoints.length === 0) return null;
  const urls = endpoints.map(endpoint => new URL(endpoint));
  const portOf = ({ port, protocol }: URL): number => Number(port) || (protocol === 'https:' ? 443 : 80);
  const sites: SiteRules = {
    allow: [...new Set(urls.map(({ hostname }) => hostname))],
    ports: [...new Set(urls.map(portOf))],
    httpsOnly: urls.every(({ protocol }) => protocol === 'https:'),
  };
  return { sites, version: `u${createHash('sha256').update(JSON.stringify(sites)).digest('hex').slice(0, 16)}` };
}
