import { TrustedRoot } from '@sigstore/protobuf-specs';

/** Authorities and logs of a Sigstore, as `trusted_root.json` has them. Throws what is missing in it. */
export function parseTrustedRoot(text: string, name: string): TrustedRoot {
  let root: TrustedRoot;
  try {
    root = TrustedRoot.fromJSON(JSON.parse(text));
  } catch (error) {
    throw new Error(`${name} is no trusted root in JSON: ${error instanceof Error ? error.message : error}`);
  }
  // https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_trustroot.proto
  if (!root.mediaType.startsWith('application/vnd.dev.sigstore.trustedroot'))
    throw new Error(`${name} is no trusted root: its mediaType is "${root.mediaType}"`);
  if (root.certificateAuthorities.length === 0) throw new Error(`${name} names no certificateAuthorities`);
  if (root.tlogs.length + root.timestampAuthorities.length === 0)
    throw new Error(
      `${name} names neither tlogs nor timestampAuthorities: nothing would prove when a release was signed`,
    );
  return root;
}

/** The root of Sigstore's public deployment, by TUF: a copy is kept in the user's folder for data of programs. */
export async function publicTrustedRoot(): Promise<TrustedRoot> {
  const { getTrustedRoot } = await import('@sigstore/tuf');
  try {
    return await getTrustedRoot();
  } catch (error) {
    throw new Error(
      `the trusted root of Sigstore cannot be fetched (${error instanceof Error ? error.message : error}): name a copy of trusted_root.json by --trusted-root`,
    );
  }
}
