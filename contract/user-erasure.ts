import * as z from 'zod';

/** Answer of `DELETE /internal/users/{user_id}`: 200 when all is removed, 202 while runners or stores still hold something. */
export const userErasure = z
  .object({
    user_id: z.string().describe('User whose data is removed.'),
    done: z.boolean().describe('False: the controller goes on by itself; repeat the request to learn when it is done.'),
    removed: z
      .object({
        sessions: z.int().describe('Number of sessions.'),
        events: z.int().describe('Number of events.'),
        videos: z.int().describe('Number of videos.'),
        files: z.int().describe('Number of files.'),
        pages: z.int().describe('Number of kept pages.'),
        profiles: z.int().describe('Number of profiles.'),
        credentials: z.int().describe('Number of credentials.'),
        policies: z.int().describe('Number of policies.'),
        user_actions: z.int().describe('Number of user actions.'),
      })
      .describe('Objects that were removed since the first request.'),
  })
  .meta({ id: 'UserErasure' });
export interface UserErasure extends z.infer<typeof userErasure> {}
