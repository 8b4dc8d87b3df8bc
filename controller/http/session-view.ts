import { type Session, sessionSchema } from '../../contract/session.ts';
import type { SessionRow } from '../store/rows.ts';

/** A session as operators see it: the schema drops what it does not name, such as the claim. */
export const sessionView = ({ id, options, artifacts_s3_prefix, ...row }: SessionRow): Session =>
  sessionSchema.parse({
    ...Object.fromEntries(Object.entries(row).map(([name, value]) => [name, writeValue(value)])),
    session_id: id,
    record_video: options.record_video,
    artifacts_prefix: artifacts_s3_prefix,
  });

const writeValue = (value: unknown): unknown => (value instanceof Date ? value.toISOString() : value);
