import type { Conceal } from '../budget/cut.ts';
import type { AskUser } from '../credentials/ask-user.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { LeaseFiles } from '../files/session-files.ts';
import type { BeforeFill } from '../secrecy/before-fill.ts';
import type { Documents } from '../secrecy/documents.ts';
import type { Pictures } from '../secrecy/pictures.ts';
import type { ProfileAccess } from './profile-access.ts';

/** Shared by the tools of one lease. */
export interface ToolLease {
  readonly sessionId: string;
  readonly credentials: Credentials;
  readonly documents: Documents;
  readonly before: BeforeFill;
  /** Every picture that leaves goes through `take`. */
  readonly pictures: Pictures;
  readonly conceal: Conceal;
  readonly files: LeaseFiles;
  readonly profiles: ProfileAccess;
  readonly askUser: AskUser;
  /** Ids of user actions whose answer no call has brought yet, by reason and time-out. */
  readonly openActions: Map<string, string>;
  /** Records an attempt to log in: the domain and its outcome, nothing else. */
  readonly audit: (domain: string, status: string) => void;
}
