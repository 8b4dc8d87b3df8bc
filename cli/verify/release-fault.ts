/** Next steps where a part of a release is refused. */
export const NEXT_STEPS = {
  changed: 'get the release again from where it was published, and deploy nothing of this copy',
  signer: 'deploy nothing that another signed; if the publisher has a new key or workflow, name that one',
  root: 'name the trusted_root.json of the Sigstore that the publisher signs with by --trusted-root, in its newest version',
  keyless:
    'name the identity of the publisher by --identity and --issuer, or its key by --key: docs/verify.md has both',
  unattested:
    'copy it with its referrers (oras copy -r), or ask its publisher for a release that has them: deploy none without',
  place: 'check --from and the version, or name the parts that are there by --only',
  registry: 'check the address of --from and the network, or copy the release into a folder and name that',
  login: 'run "docker login" for this registry with an account that may read it',
  format: 'verify by the version of omicron-browser that the release is of; it may be newer than this one',
} as const;

/** The reason why a part of a release is refused, and the next step. */
export class ReleaseFault extends Error {
  readonly step: keyof typeof NEXT_STEPS;

  constructor(why: string, step: keyof typeof NEXT_STEPS) {
    super(why);
    this.step = step;
  }
}
