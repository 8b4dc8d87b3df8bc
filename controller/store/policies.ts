import {
  type EffectivePolicy,
  effectivePolicy,
  type PolicyDocument,
  policyDocument,
} from '../../contract/policy/document.ts';
import type { PolicyLayer } from '../../contract/policy/sites.ts';
import type { Database } from '../ports/database.ts';
import { callFunction } from './call.ts';

/** Policy documents by layer; `subject` is a user id, a session id, or empty for the deployment. */
export interface Policies {
  get(layer: PolicyLayer, subject: string): Promise<PolicyDocument | null>;
  put(layer: PolicyLayer, subject: string, document: PolicyDocument): Promise<void>;
  remove(layer: PolicyLayer, subject: string): Promise<void>;
  of(sessionId: string, userId: string): Promise<EffectivePolicy>;
  /** Layers that apply to every session of a user: the layers of the deployment and of the user. */
  ofUser(userId: string): Promise<EffectivePolicy>;
}

export function sqlPolicies(database: Database): Policies {
  const of = async (sessionId: string | null, userId: string): Promise<EffectivePolicy> =>
    effectivePolicy.parse(await callFunction(database, 'policy_of', { p_session: sessionId, p_user: userId }));
  return {
    async get(layer, subject) {
      const [row] = await database.query<{ document: unknown }>(
        'select document from omicron.policies where layer = $1 and subject = $2',
        [layer, subject],
      );
      return row ? policyDocument.parse(row.document) : null;
    },
    async put(layer, subject, document) {
      await callFunction(database, 'put_policy', {
        p_layer: layer,
        p_subject: subject,
        p_document: JSON.stringify(document),
      });
    },
    async remove(layer, subject) {
      await database.query('delete from omicron.policies where layer = $1 and subject = $2', [layer, subject]);
    },
    of,
    ofUser: userId => of(null, userId),
  };
}
