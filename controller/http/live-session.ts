import type { FastifyRequest } from 'fastify';
import { OmicronError } from '../../contract/problem.ts';
import type { Broker } from '../store/broker.ts';
import type { Directory } from '../store/directory.ts';
import type { SessionRow } from '../store/rows.ts';
import { leaseOf } from './bearer.ts';

/** Finds the session of a request's lease, while that lease lives; throws `lease_ended` afterwards. */
export const liveSessionOf =
  ({ broker, directory }: { broker: Broker; directory: Directory }) =>
  async (request: FastifyRequest): Promise<SessionRow> => {
    const { claims } = leaseOf(request);
    const session = await directory.session(claims.session_id, null);
    if ((await broker.reportActivity(claims, 0)) === null || !session) throw tokenLeaseEnded();
    return session;
  };

export const tokenLeaseEnded = () =>
  new OmicronError('lease_ended', 'The lease of this token has ended; stop serving it.');
