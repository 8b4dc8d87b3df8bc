import type { Builder } from './builder.ts';
import { IMAGES, type ImageName } from './context.ts';

/** The file that locks the bases. */
export const BASES = 'images/base-images.json';

export interface Base {
  /** With its tag, which the publisher moves, e.g. `docker.io/library/debian:12-slim`. */
  readonly image: string;
  /** The digest of the tag when it was pinned; null until then. */
  readonly digest: string | null;
}
export type Bases = Readonly<Record<ImageName, Base>>;

/** A made-up digest, all zeros above all, is none. */
const DIGEST = /^sha256:(?!(.)\1{63}$)[0-9a-f]{64}$/;

/** The base of an image by its digest. Throws an Error where it has none: what a tag names can change between two builds. */
export function baseOf(name: ImageName, bases: Bases): string {
  const { image, digest } = bases[name];
  if (digest === null || !DIGEST.test(digest))
    throw new Error(
      `${BASES} has no digest of ${image}, the base of the image ${name}. Run "npm run images -- --pin" where its registry can be reached, and commit ${BASES}.`,
    );
  return `${image.slice(0, image.lastIndexOf(':'))}@${digest}`;
}

/** Throws an Error for a base that is named by its tag. */
export function requireDigest(base: string): void {
  if (!DIGEST.test(base.split('@')[1] ?? ''))
    throw new Error(`--base ${base} has no digest, and an image that is pushed needs one: NAME@sha256:DIGEST.`);
}

/** The bases with the digests that their tags have now. Pulls each once. */
export async function pinBases(builder: Pick<Builder, 'pull'>, bases: Bases): Promise<Bases> {
  const digests = new Map<string, string>();
  for (const { image } of Object.values(bases)) if (!digests.has(image)) digests.set(image, await builder.pull(image));
  const found = IMAGES.map(name => {
    const { image } = bases[name];
    return [name, { image, digest: digests.get(image) }];
  });
  return Object.fromEntries(found) as Bases; // every name and every image was gone through
}
