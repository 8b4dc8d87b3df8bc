import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type ConsoleRole, type Me, mayAs } from '../../contract/console.ts';

/** Who is signed in; null until that is known. */
export const MeContext = createContext<Me | null>(null);

/** Whether the person may do what needs this role. The server decides; this hides what it would refuse. */
export function useMay(needed: ConsoleRole): boolean {
  const me = useContext(MeContext);
  return me !== null && mayAs(me.role, needed);
}

/** The one user whose sessions the person has; null: everyone's. */
export const useOwnUser = (): string | null => useContext(MeContext)?.user_id ?? null;
