import type { PolicyDocument } from '../../contract/policy/document.ts';
import type { PolicyLayer } from '../../contract/policy/sites.ts';

/** A session's policy: every layer that is set, widest first. `version` changes whenever any of them does. */
export interface EffectivePolicy {
  version: string;
  layers: { layer: PolicyLayer; policy: PolicyDocument }[];
}

/** Policy documents by layer; `subject` is a user id, a session id, or empty for the deployment. */
export interface Policies {
  get(layer: PolicyLayer, subject: string): Promise<PolicyDocument | null>;
  put(layer: PolicyLayer, subject: string, document: PolicyDocument): Promise<void>;
  remove(layer: PolicyLayer, subject: string): Promise<void>;
  of(sessionId: string, userId: string): Promise<EffectivePolicy>;
}
