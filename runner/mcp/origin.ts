import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { ENV } from '../../contract/names.ts';
import { withoutBrackets } from '../../contract/policy/hosts.ts';
import { OmicronError } from '../../contract/problem.ts';

/**
 * Refuses requests that a page of a web browser may have sent (DNS rebinding), as MCP requires of a server (Streamable
 * HTTP, "Security Warning"): a `Host` that a stranger's name could be, or an `Origin` other than the endpoint's own.
 * `origins` are allowed too, and their hosts. Throws `origin_refused`.
 */
export function checkOrigin({ host = '', origin }: IncomingHttpHeaders, origins: readonly string[]): void {
  if (!isOwnName(hostname(host)) && !origins.some(each => URL.parse(each)?.host === host.toLowerCase()))
    throw refused(`The Host "${host}" is not a name of this runner`);
  if (origin === undefined || origins.includes(origin)) return;
  if (URL.parse(origin)?.host !== URL.parse(`http://${host}`)?.host)
    throw refused(`Pages of the origin "${origin}" may not use this runner`);
}

/** An address, or a name that no public name server has. */
const isOwnName = (name: string): boolean =>
  isIP(withoutBrackets(name)) > 0 || /^[a-z0-9-]+$|\.localhost$|\.svc$|\.svc\.cluster\.local$/.test(name);

const hostname = (host: string): string => URL.parse(`http://${host}`)?.hostname ?? '';

const refused = (what: string): OmicronError =>
  new OmicronError(
    'origin_refused',
    `${what}. Use the mcp_url of the lease, or allow the origin in ${ENV.mcpOrigins}.`,
  );
