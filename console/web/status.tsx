import type { Session } from '../../contract/session.ts';
import { stateHint } from './words.ts';

/** A session's state, in a word and a colour. */
export const Status = ({ session }: { session: Session }) => (
  <span class={`status ${session.status}`} title={stateHint(session) ?? undefined}>
    {session.status}
    {session.archived_at !== null && ', archived'}
  </span>
);
