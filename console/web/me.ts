import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type ConsoleRole, type Me, mayAs } from '../../contract/console.ts';

/** The person who is signed in. Pages are shown when that is known. */
export const MeContext = createContext<Me>({ name: '', role: 'viewer', user_id: null });

/** Whether the person may do what needs this role. The server decides; this hides what it would refuse. */
export const useMay = (needed: ConsoleRole): boolean => mayAs(useContext(MeContext).role, needed);

/** The one user whose sessions the person has; null: everyone's. */
export const useOwnUser = (): string | null => useContext(MeContext).user_id;
