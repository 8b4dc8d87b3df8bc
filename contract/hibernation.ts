import * as z from 'zod';
import { profileState } from './profile.ts';
import { savedTabs } from './saved-tabs.ts';

/**
 * When a session is hibernated instead of losing what its browser holds: never, when its runner's machine goes away, or also when its
 * lease would expire or be evicted.
 */
export const HIBERNATE = ['never', 'node', 'expiry'] as const;
export type Hibernate = (typeof HIBERNATE)[number];

export const HIBERNATION_REASONS = ['idle', 'capacity', 'node'] as const;
export type HibernationReason = (typeof HIBERNATION_REASONS)[number];

/** The state of a hibernated session that comes back beside its profile. */
export const sessionSnapshot = z
  .strictObject({
    ...savedTabs.shape,
    state: profileState
      .nullable()
      .describe("Cookies, localStorage and IndexedDB; null: the session's profile, which is saved, has them."),
    tainted: z
      .boolean()
      .describe(
        'Whether a site may have stored a password or a code of the lease: restored documents are read for it.',
      ),
  })
  .meta({ id: 'SessionSnapshot' });
export type SessionSnapshot = z.infer<typeof sessionSnapshot>;

/** Body of `PUT /internal/runner-hibernation` (lease token): keeps the snapshot and gives the runner back, in one step. */
export const hibernationRequest = z
  .strictObject({
    why: z
      .enum(HIBERNATION_REASONS)
      .describe(
        'Reason: the lease was about to expire (`idle`), its place was needed (`capacity`), or the machine of its runner goes away (`node`).',
      ),
    idle_seconds: z
      .int()
      .min(0)
      .describe('Seconds; refused with `lease_in_use` when the lease was used within this time.'),
    snapshot: sessionSnapshot.describe('Tabs and data that come back with the session.'),
  })
  .meta({ id: 'HibernationRequest' });
export type HibernationRequest = z.infer<typeof hibernationRequest>;

/** Claims of the order to hibernate (EdDSA, the runner's audience of the assignment). */
export const hibernateClaims = z.object({
  order: z.literal('hibernate'),
  why: z.enum(HIBERNATION_REASONS),
  idle_seconds: z.int().min(0),
});
export type HibernateOrder = Pick<z.infer<typeof hibernateClaims>, 'why' | 'idle_seconds'>;

/** Answer of a runner's `POST /hibernate`: the session is hibernated, and the runner ends. */
export const hibernateAnswer = z
  .object({ hibernated: z.literal(true).describe('The controller has the snapshot, and the runner ends.') })
  .meta({ id: 'HibernateAnswer' });
