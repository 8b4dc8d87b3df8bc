import { bundleFromJSON } from '@sigstore/bundle';
import * as z from 'zod';
import { MEDIA } from './contents.ts';
import type { Publisher } from './publisher.ts';

/** An in-toto statement: <https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md>. */
const statement = z.object({
  _type: z.literal('https://in-toto.io/Statement/v1'),
  subject: z.array(z.object({ digest: z.object({ sha256: z.string() }) })).min(1),
  predicateType: z.string(),
  predicate: z.unknown(),
});
export type InTotoStatement = z.infer<typeof statement>;

/** The statement of a bundle that this publisher signed. Throws why it is not one. */
export function verifyStatement(bundle: Buffer, publisher: Publisher): InTotoStatement {
  const parsed = bundleFromJSON(JSON.parse(bundle.toString()));
  if (parsed.content.$case !== 'dsseEnvelope') throw new Error('the bundle has no statement');
  publisher(parsed);
  const { payload, payloadType } = parsed.content.dsseEnvelope;
  if (payloadType !== MEDIA.statement) throw new Error(`the bundle has a ${payloadType}`);
  return statement.parse(JSON.parse(Buffer.from(payload).toString()));
}
