import * as z from 'zod';
import { ENVIRONMENTS } from '../manifests/environments.ts';
import { FIXTURES } from './fixtures/objects.ts';
import { kubectl, kubectlBytes } from './kubectl.ts';

const listing = z.object({
  objects: z.array(z.object({ key: z.string(), bytes: z.int(), encryption: z.string().nullable() })),
  /** Keys of unfinished multipart uploads. */
  unfinished: z.array(z.string()),
});

const s3 = ['-n', FIXTURES, 'exec', 'deployment/s3', '--', 'python3', 'cluster/fixtures/s3.py'];
const { bucket } = ENVIRONMENTS.local.artifacts;

/** The S3 server of the fixtures. */
export const store = {
  list: async () => listing.parse(JSON.parse(await kubectl([...s3, 'list', bucket]))),
  get: (key: string): Promise<Buffer> => kubectlBytes([...s3, 'get', bucket, key]),
};
