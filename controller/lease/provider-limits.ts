import type { PolicyDocument } from '../../contract/policy/document.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { GetOrCreateRequest } from '../../contract/session.ts';
import type { ProviderCapabilities, RunnerProvider } from '../ports/runners.ts';
import type { Directory } from '../store/directory.ts';
import type { Policies } from '../store/policies.ts';

/** A lease that seemed to have what its browser cannot be held to would be worse than none. */
const notHeld = (what: string): OmicronError =>
  new OmicronError(
    'not_held_remotely',
    `The browsers of this deployment are a remote service's, where ${what}. Leave it out, or use a deployment with browsers of its own.`,
  );

/** Throws `not_held_remotely` for rules about sites where the browsers do not go out through the egress proxy, which holds them. */
export function refuseUnheldPolicy({ sites }: PolicyDocument, { holdsSiteRules }: ProviderCapabilities): void {
  if (!holdsSiteRules && Object.keys(sites).length > 0)
    throw notHeld('no policy decides which sites are reached ("sites")');
}

/** Throws `not_held_remotely` where the lease would need more than the provider's browsers can be held to. */
export async function refuseUnheld(
  request: GetOrCreateRequest,
  { provider: { capabilities }, directory, policies }: UnheldParts,
): Promise<void> {
  const { user_id, conversation_id, profile, profile_form } = request;
  if (!capabilities.keepsBrowserFiles && profile && profile_form === 'complete')
    throw notHeld("no profile is kept with the browser's files (profile_form)");
  if (capabilities.holdsSiteRules) return;
  // Policies that were set under an earlier provider are still in force.
  const { sessions } = await directory.list({ user_id, conversation_id, archived: true, limit: 1 });
  const [known] = sessions;
  const { layers } = await (known === undefined ? policies.ofUser(user_id) : policies.of(known.id, user_id));
  for (const { policy } of layers) refuseUnheldPolicy(policy, capabilities);
}

interface UnheldParts {
  provider: Pick<RunnerProvider, 'capabilities'>;
  directory: Pick<Directory, 'list'>;
  policies: Pick<Policies, 'of' | 'ofUser'>;
}
