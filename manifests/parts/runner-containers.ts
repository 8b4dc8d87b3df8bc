import type { k8s } from 'cdk8s-plus-28';
import { ENV, LABELS, PORTS, RUNNER_COMMAND, SECCOMP_PROFILE } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { PUBLIC_KEYS } from '../secrets.ts';
import { artifactStore, IRSA, webIdentitySettings, withFurther } from './configuration.ts';
import { containerSecurity, emptyDir, PULL, plain, resources, webIdentityToken } from './container.ts';
import { port } from './meta.ts';
import { CONTROLLER_URL, EGRESS_URL } from './runner-endpoints.ts';

/**
 * SIGTERM to the end of the pod: the session is hibernated within 8 s and the browser ends within 10 s (runner/runner.ts, runner/main.ts), the
 * uploader has the rest. A spot
 * instance leaves two minutes.
 */
export const RUNNER_GRACE_SECONDS = 120;
/** The part of those for uploading; then it has 8 s to report what is lost (runner/uploader/upload.ts). */
export const UPLOAD_SECONDS = RUNNER_GRACE_SECONDS - 18 - 8 - 7;

/** A browser without calls and viewers this long uses no processor time until the next call. */
const FREEZE_SECONDS = 30;

export const BROWSER = 'browser';
export const UPLOADER = 'uploader';

const OUTPUT = { name: 'output', mountPath: '/output' };

const runnerId: k8s.EnvVar = {
  name: ENV.runnerId,
  valueFrom: { fieldRef: { fieldPath: `metadata.labels['${LABELS.runnerId}']` } },
};

/** Settings of the runner that are the same in every pod; `runner/settings.ts` parses them. */
const runnerSettings = (env: Environment) => ({
  [ENV.controllerUrl]: CONTROLLER_URL,
  [ENV.egressUrl]: EGRESS_URL,
  [ENV.outputDir]: OUTPUT.mountPath,
  [ENV.runnerHost]: '0.0.0.0',
  [ENV.runnerPort]: String(PORTS.runner),
  [ENV.logLevel]: env.logLevel,
  ...(env.runner.keepPages ? { [ENV.keepPages]: env.runner.keepPages } : {}),
  ...(env.runner.insecureLoginOrigins ? { [ENV.insecureLoginOrigins]: env.runner.insecureLoginOrigins.join(',') } : {}),
  [ENV.freezeSeconds]: String(FREEZE_SECONDS),
  ...(env.runner.mcpOrigins ? { [ENV.mcpOrigins]: env.runner.mcpOrigins.join(',') } : {}),
});

/** The runner: browser and MCP endpoint, without credentials of its own. */
export function browser(env: Environment): k8s.Container {
  const health = { httpGet: { path: '/healthz', port: port(PORTS.runner) }, timeoutSeconds: 5 };
  return {
    name: BROWSER,
    image: env.images.runner,
    imagePullPolicy: PULL,
    env: [
      runnerId,
      ...plain(withFurther(runnerSettings(env), env.settings?.runner)),
      ...plain({ HOME: '/tmp' }),
      {
        name: ENV.controllerJwks,
        valueFrom: { configMapKeyRef: { name: PUBLIC_KEYS.name, key: PUBLIC_KEYS.keys[0] } },
      },
    ],
    ports: [{ name: 'mcp', containerPort: PORTS.runner, protocol: 'TCP' }],
    // A browser has a minute to start (controller/compose.ts); the other probes begin after that.
    startupProbe: { ...health, periodSeconds: 1, failureThreshold: 60 },
    // O11: only the port, so that a slow page does not remove the runner from its Service.
    readinessProbe: { tcpSocket: { port: port(PORTS.runner) }, periodSeconds: 5, timeoutSeconds: 2 },
    // Asks the browser, so that a dead Chromium in a live process is noticed.
    livenessProbe: { ...health, periodSeconds: 10, failureThreshold: 3 },
    // The end of its log becomes the reason of a failed start.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    resources: resources(env.runner.browser),
    securityContext: {
      ...containerSecurity,
      // Chromium's own sandbox needs what RuntimeDefault refuses (docs/adr/0008).
      seccompProfile: { type: 'Localhost', localhostProfile: SECCOMP_PROFILE },
    },
    volumeMounts: [OUTPUT, { name: 'tmp', mountPath: '/tmp' }, { name: 'shm', mountPath: '/dev/shm' }],
  };
}

/**
 * A native sidecar: starts before the browser, outlives it, holds the only credential, and reaches S3 through the
 * proxy.
 */
export function uploader(env: Environment): k8s.Container {
  const { region, webIdentityRole } = env.artifacts;
  return {
    name: UPLOADER,
    image: env.images.runner,
    imagePullPolicy: PULL,
    restartPolicy: 'Always',
    // tini: as process 1, Node would ignore the SIGTERM of a pod that is deleted while it starts, for the whole
    // grace.
    command: ['tini', '--', 'node', ...RUNNER_COMMAND.flags, RUNNER_COMMAND.uploaderMain],
    env: [
      runnerId,
      ...plain({
        [ENV.controllerUrl]: CONTROLLER_URL,
        [ENV.egressUrl]: EGRESS_URL,
        [ENV.outputDir]: OUTPUT.mountPath,
        [ENV.artifactStore]: artifactStore(env),
        [ENV.uploadSeconds]: String(UPLOAD_SECONDS),
        [ENV.logLevel]: env.logLevel,
        [ENV.awsRegion]: region,
        ...webIdentitySettings(env.artifacts),
        HOME: '/tmp',
      }),
    ],
    resources: resources(env.runner.uploader),
    securityContext: containerSecurity,
    volumeMounts: [
      OUTPUT,
      { name: 'uploader-tmp', mountPath: '/tmp' },
      ...(webIdentityRole ? [{ name: IRSA.volume, mountPath: IRSA.path, readOnly: true }] : []),
    ],
  };
}

/** Nothing outlives the pod, and everything has a size. */
export const volumes = (env: Environment): k8s.Volume[] => [
  // Eight hours at 1 Mbit/s are 3.6 GB.
  emptyDir(OUTPUT.name, '5Gi'),
  // Cache, downloads, and the files of a complete profile, twice while a save copies them.
  emptyDir('tmp', '3Gi'),
  // Chromium's shared memory; counts as the pod's memory.
  emptyDir('shm', '1Gi', 'Memory'),
  emptyDir('uploader-tmp', '64Mi'),
  ...(env.artifacts.webIdentityRole ? [webIdentityToken(IRSA.volume)] : []),
];
