const OCI = 'oci://';

/** The folder of an environment in what Argo CD reads: a git repository, or the artifact `manifests` of a release. */
export const manifestsPath = (env: string, repository: string): string =>
  repository.startsWith(OCI) ? env : `manifests/rendered/${env}`;
