type Environment = Readonly<Record<string, string | undefined>>;

/** A job of GitHub Actions with `id-token: write`. */
export const hasGithubIdentity = ({
  ACTIONS_ID_TOKEN_REQUEST_URL,
  ACTIONS_ID_TOKEN_REQUEST_TOKEN,
}: Environment): boolean => Boolean(ACTIONS_ID_TOKEN_REQUEST_URL && ACTIONS_ID_TOKEN_REQUEST_TOKEN);

/** A job of GitLab CI with SIGSTORE_ID_TOKEN among its `id_tokens`. */
export const hasGitlabIdentity = ({ SIGSTORE_ID_TOKEN }: Environment): boolean => Boolean(SIGSTORE_ID_TOKEN);
