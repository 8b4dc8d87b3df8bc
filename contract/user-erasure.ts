import * as z from 'zod';

/** Answer of `DELETE /internal/users/{user_id}`: 200 when all is removed, 202 while runners or stores still hold something. */
export const userErasure = z
  .object({
    user_id: z.string(),
    /** False: the controller goes on by itself; repeat the request to learn when it is done. */
    done: z.boolean(),
    /** Objects that were removed since the first request. */
    removed: z.object({
      sessions: z.int(),
      events: z.int(),
      videos: z.int(),
      files: z.int(),
      pages: z.int(),
      profiles: z.int(),
      credentials: z.int(),
      policies: z.int(),
      user_actions: z.int(),
    }),
  })
  .meta({ id: 'UserErasure' });
export type UserErasure = z.infer<typeof userErasure>;
