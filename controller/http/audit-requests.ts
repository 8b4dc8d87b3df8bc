import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AuditEntry } from '../../contract/audit.ts';
import type { Audit } from '../store/audit.ts';

export interface AuditRequests {
  /** Null: there is no audit. */
  readonly audit: Pick<Audit, 'write'> | null;
}

/** Calls of agents, many for each session: what they come to is in the session's events, which have entries of their own. */
const UNTOLD: ReadonlySet<string> = new Set(['getOrCreateSession', 'heartbeatSession']);
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const OK = 200;

/**
 * An entry for each call with a service token that may change something, refused ones too, before it is answered. A call whose entry cannot be
 * written is answered as failed. Bodies are left out, as they may hold secrets; a policy that came into force is none.
 */
export function auditRequests(app: FastifyInstance, { audit }: AuditRequests): void {
  app.decorateRequest('caller', null);
  if (audit === null) return;
  app.addHook('onSend', async (request, reply) => {
    if (request.caller === null || READS.has(request.method)) return;
    const entry = entryOf(request, request.caller, reply.statusCode);
    request.caller = null; // a failure to write it is answered, and comes by here again
    if (entry !== undefined) await audit.write(entry);
  });
}

function entryOf(
  request: FastifyRequest,
  { act }: NonNullable<FastifyRequest['caller']>,
  status: number,
): AuditEntry | undefined {
  const { schema } = request.routeOptions;
  const action = (schema as { operationId?: string } | undefined)?.operationId;
  if (action === undefined || UNTOLD.has(action)) return undefined;
  const putsPolicy = status === OK && /^put\w+Policy$/.test(action);
  return {
    source: act?.via ?? 'api',
    actor: {
      ...(act === undefined ? {} : { id: act.sub, name: act.name }),
      ...(request.userId === null ? {} : { token_user: request.userId }),
    },
    action,
    target: request.params as Record<string, string>, // of a path, parsed or not
    status,
    ...(putsPolicy ? { policy: request.body } : {}),
  };
}
