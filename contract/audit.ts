import * as z from 'zod';
import { AUDIT_PREFIX } from './names.ts';

/** Digest that the first file names as the one before it. */
export const NO_DIGEST = '0'.repeat(64);

/** Key of an audit file, which says its place and its content: `audit/prod/000000000012-<sha256>.jsonl`. */
export const auditKey = (env: string, sequence: number, sha256: string): string =>
  `${auditPrefix(env)}${String(sequence).padStart(12, '0')}-${sha256}.jsonl`;

export const auditPrefix = (env: string): string => `${AUDIT_PREFIX}/${env}/`;

const NAME = /^(\d{12})-([0-9a-f]{64})\.jsonl$/;

/** The parts of a file's name; undefined: it is no audit file. */
export function readAuditName(name: string): { sequence: number; sha256: string } | undefined {
  const [, sequence, sha256] = NAME.exec(name) ?? [];
  return sequence === undefined || sha256 === undefined ? undefined : { sequence: Number(sequence), sha256 };
}

/** The first line of a file; each further one is an entry. */
export const auditHeader = z.object({
  audit: z.literal(1),
  environment: z.string(),
  sequence: z.int().min(1),
  previous: z.string(),
  entries: z.int().min(1),
});

/** A call of the API: written before the answer is sent. Entries of sessions are written with their events, by the database. */
export interface AuditEntry {
  /** `api`, or the program that called for a person. */
  readonly source: string;
  readonly actor: { readonly id?: string; readonly name?: string | undefined; readonly token_user?: string };
  /** The operation's id in the OpenAPI document. */
  readonly action: string;
  /** Parameters of the path: ids and names. */
  readonly target: Readonly<Record<string, string>>;
  readonly status: number;
  /** The document that a change of a policy put in force. */
  readonly policy?: unknown;
}
