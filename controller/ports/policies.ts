import type { EffectivePolicy, PolicyDocument } from '../../contract/policy/document.ts';
import type { PolicyLayer } from '../../contract/policy/sites.ts';

/** Policy documents by layer; `subject` is a user id, a session id, or empty for the deployment. */
export interface Policies {
  get(layer: PolicyLayer, subject: string): Promise<PolicyDocument | null>;
  put(layer: PolicyLayer, subject: string, document: PolicyDocument): Promise<void>;
  remove(layer: PolicyLayer, subject: string): Promise<void>;
  of(sessionId: string, userId: string): Promise<EffectivePolicy>;
}
