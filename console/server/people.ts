import { createHash } from 'node:crypto';
import * as z from 'zod';
import { CONSOLE_ROLES, type ConsoleRole } from '../../contract/console.ts';
import { OmicronError } from '../../contract/problem.ts';
import { foreignId } from '../../contract/session.ts';
import type { SignedInPerson } from './sign-ins.ts';

/** Claims of an identity provider that say who a person is. A claim within a claim has a dot: `app_metadata.role`. */
export interface ClaimNames {
  /** The platform's id of the user, whose sessions the person has. */
  readonly user: string;
  /** Roles, a list or one word. */
  readonly role: string;
  /** Which word of that claim is which role. */
  readonly roles: Readonly<Record<ConsoleRole, string>>;
  /** The role of people without any such word; null: they may not sign in. */
  readonly roleWithout: ConsoleRole | null;
}

type Claims = Readonly<Record<string, unknown>>;

const words = z.union([z.array(z.string()), z.string().transform(word => word.split(' '))]).catch([]);
const text = z.string().min(1).max(256);

/** The person whom verified claims describe. Throws `forbidden` for one who has no role here. */
export function personOf(claims: Claims, names: ClaimNames): SignedInPerson {
  const held = words.parse(claimAt(claims, names.role));
  const role = CONSOLE_ROLES.findLast(each => held.includes(names.roles[each])) ?? names.roleWithout;
  const user = foreignId.safeParse(claimAt(claims, names.user));
  const subject = text.safeParse(claims.sub);
  const issuer = z.string().min(1).safeParse(claims.iss);
  if (role === null)
    throw new OmicronError('forbidden', 'Your account has no role in this console. Ask its administrator for one.');
  if (!user.success || !subject.success || !issuer.success)
    throw new OmicronError(
      'unauthorized',
      `The identity provider did not say who you are: the claim "${names.user}" is missing.`,
    );
  const name = text.safeParse(claims.email ?? claims.preferred_username ?? claims.name).data ?? subject.data;
  return {
    id: personId(issuer.data, subject.data),
    name,
    role,
    userId: role === 'admin' ? null : user.data,
    issuer: issuer.data,
    subject: subject.data,
    providerSession: text.safeParse(claims.sid).data,
  };
}

/** A subject is unique at its issuer alone (OpenID Connect Core 1.0, section 5.7), and names and addresses nowhere. */
const personId = (issuer: string, subject: string): string =>
  createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('base64url');

const claimAt = (claims: Claims, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((at, name) => (typeof at === 'object' && at !== null ? (at as Claims)[name] : undefined), claims);
