import { bundleFromJSON } from '@sigstore/bundle';
import * as z from 'zod';
import { MEDIA } from './contents.ts';
import type { Publisher } from './publisher.ts';
import { ReleaseFault } from './release-fault.ts';

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
  const parsed = parsedOr('it is no sigstore bundle', () => bundleFromJSON(JSON.parse(bundle.toString())));
  if (parsed.content.$case !== 'dsseEnvelope') throw new ReleaseFault('its bundle has no statement', 'format');
  publisher(parsed);
  const { payload, payloadType } = parsed.content.dsseEnvelope;
  if (payloadType !== MEDIA.statement) throw new ReleaseFault(`its bundle has a ${payloadType}`, 'format');
  return parsedOr('its bundle has no in-toto statement of version 1', () =>
    statement.parse(JSON.parse(Buffer.from(payload).toString())),
  );
}

function parsedOr<T>(why: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new ReleaseFault(why, 'format'); // libraries say where in the document, over many lines
  }
}
