import type { Environment } from '../../manifests/environment-type.ts';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

/** The environment as it is once its images are pushed; those that are stay as they are. */
export const pushed = (env: Environment): Environment => {
  const { controller, runner, egress, console, pause } = env.images;
  const image = (is: string, part: string) => is || `registry.test/omicron-browser/${part}@${DIGEST}`;
  return {
    ...env,
    images: {
      controller: image(controller, 'controller'),
      runner: image(runner, 'runner'),
      egress: image(egress, 'egress'),
      console: image(console, 'console'),
      pause,
    },
  };
};
