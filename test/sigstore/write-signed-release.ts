import { copyFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keylessSigner } from '../../release/oci/keyless.ts';
import { openLayout } from '../../release/oci/layout.ts';
import { signRelease } from '../../release/oci/sign.ts';
import { jobToken, WORKFLOW } from './job.ts';
import { buildSigstore, startSigstore } from './real-sigstore.ts';

// Writes the release that test/release/keyless.test.ts verifies where Sigstore's programs are not built: one part, signed by them.

const folder = join(import.meta.dirname, '..', 'release', 'keyless');
const version = '1.2.3';
await using sigstore = await startSigstore(buildSigstore());
const { fulcio, rekor, timestampAuthority } = sigstore.urls;
await rm(folder, { recursive: true, force: true });
const layout = await openLayout(join(folder, 'release'));
await layout.add({
  name: `manifests:${version}`,
  layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', bytes: Buffer.from('manifests') }],
});
await signRelease(layout, {
  version,
  signer: keylessSigner(() => jobToken(sigstore.issuer), {
    fulcio,
    rekor: { url: rekor, version: 2 },
    timestampAuthority,
  }),
  commit: 'c0ffee'.padEnd(40, '0'),
  builder: 'https://github.com/example/omicron-browser/actions/runs/3',
  sboms: {},
});
await copyFile(await sigstore.trustedRoot('fulcio', 'rekor', 'tsa'), join(folder, 'trusted_root.json'));
await copyFile(await sigstore.trustedRoot('otherFulcio', 'rekor', 'tsa'), join(folder, 'other_root.json'));
await writeFile(
  join(folder, 'signer.json'),
  `${JSON.stringify({ identity: WORKFLOW, issuer: sigstore.issuer.url })}\n`,
);
