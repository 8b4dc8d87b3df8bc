import { REPOSITORY } from './catalogue.ts';
import { hasGithubIdentity, hasGitlabIdentity } from './job-identity.ts';

/** npm's arguments about provenance, and a sentence that says whether there is one. */
export interface NpmProvenance {
  readonly args: readonly string[];
  readonly says: string;
}

/** Services of CI that npm knows: whether a job has an identity, its repository, and how it gets an identity. */
const SERVICES = [
  {
    name: 'GitHub Actions',
    isHere: ({ GITHUB_ACTIONS }) => GITHUB_ACTIONS === 'true',
    hasIdentity: hasGithubIdentity,
    repository: ({ GITHUB_SERVER_URL, GITHUB_REPOSITORY }) => `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`,
    remedy: '"permissions: {id-token: write}"',
  },
  {
    name: 'GitLab CI',
    isHere: ({ GITLAB_CI }) => GITLAB_CI === 'true',
    hasIdentity: hasGitlabIdentity,
    repository: ({ CI_PROJECT_URL }) => `${CI_PROJECT_URL}`,
    remedy: '"id_tokens: {SIGSTORE_ID_TOKEN: {aud: sigstore}}"',
  },
] as const satisfies readonly Service[];

type Environment = Readonly<Record<string, string | undefined>>;
interface Service {
  readonly name: string;
  readonly remedy: string;
  isHere(environment: Environment): boolean;
  hasIdentity(environment: Environment): boolean;
  repository(environment: Environment): string;
}

/**
 * Provenance of npm packages, which npm attests in these services alone: <https://docs.npmjs.com/generating-provenance-statements>. Throws
 * where a job could attest and would not, as its packages would look like those of a stranger.
 */
export function npmProvenance(environment: Environment, isUnattested: boolean): NpmProvenance {
  const without = (why: string) => ({
    args: ['--provenance=false'],
    says: `npm packages are without provenance: ${why}`,
  });
  const service = SERVICES.find(({ isHere }) => isHere(environment));
  if (isUnattested) return without('--without-provenance');
  if (service === undefined)
    return without(`only jobs of ${SERVICES.map(({ name }) => name).join(' and ')} can attest it`);
  const { name, remedy } = service;
  if (!service.hasIdentity(environment))
    throw new Error(
      `this job of ${name} has no identity to attest provenance by: give it ${remedy}, or name --without-provenance`,
    );
  const repository = service.repository(environment);
  if (repository !== REPOSITORY)
    throw new Error(
      `this job is of ${repository}, and the packages name ${REPOSITORY}, so that npm refuses their provenance: publish from there, or change OWNER in release/catalogue.ts`,
    );
  return { args: ['--provenance'], says: `npm packages get provenance by the identity of this job of ${name}` };
}
