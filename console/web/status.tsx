import type { Session } from '../../contract/session.ts';

/** A session's state, in a word and a colour. */
export const Status = ({ session }: { session: Session }) => (
  <span class={`status ${session.status}`}>
    {session.status}
    {session.archived_at !== null && ', archived'}
  </span>
);
