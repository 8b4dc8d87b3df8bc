import { effectivePolicy, policyDocument } from '../../contract/policy/document.ts';
import type { Database } from '../ports/database.ts';
import type { Policies } from '../ports/policies.ts';
import { call } from './call.ts';

export function sqlPolicies(database: Database): Policies {
  return {
    async get(layer, subject) {
      const [row] = await database.query<{ document: unknown }>(
        'select document from omicron.policies where layer = $1 and subject = $2',
        [layer, subject],
      );
      return row ? policyDocument.parse(row.document) : null;
    },
    async put(layer, subject, document) {
      await call(database, 'put_policy', layer, subject, JSON.stringify(document));
    },
    async remove(layer, subject) {
      await database.query('delete from omicron.policies where layer = $1 and subject = $2', [layer, subject]);
    },
    of: async (sessionId, userId) => effectivePolicy.parse(await call(database, 'policy_of', sessionId, userId)),
  };
}
