import type { k8s } from 'cdk8s-plus-28';
import { ENV, LABELS, PORTS, RUNNER_COMMAND, SECCOMP_PROFILE } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { PUBLIC_KEYS } from '../secrets.ts';
import { byField, fixedSetting, preset, resolveSettings } from '../settings.ts';
import { runnerTelemetrySettings } from '../telemetry.ts';
import { artifactStoreUrl, FIXED, IRSA, webIdentitySettings } from './configuration.ts';
import { containerSecurity, emptyDir, PULL, plainVariables, resources, webIdentityToken } from './container.ts';
import { portNumber } from './meta.ts';
import { CONTROLLER_URL, EGRESS_URL } from './runner-endpoints.ts';

/**
 * The parts of a runner's end before and after its upload: the session is hibernated within 8 s and the browser ends within 10 s (runner/runner.ts,
 * runner/main.ts), and the uploader has 8 s to report what is lost (runner/uploader/upload.ts), with 10 s to spare,
 * six of which the runner keeps its port for clients whose name servers still have its address.
 */
const END_SECONDS = 18 + 8 + 10;

/** With the end, the two minutes that a spot instance leaves. */
const UPLOAD_SECONDS = 120 - END_SECONDS;

/** SIGTERM to the end of the pod. */
export const runnerGraceSeconds = (env: Environment): number =>
  Math.ceil(Number(uploaderSettings(env)[ENV.uploadSeconds])) + END_SECONDS;

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
const runnerSettings = (env: Environment) =>
  resolveSettings(
    {
      [ENV.controllerUrl]: fixedSetting(CONTROLLER_URL, FIXED.address),
      [ENV.egressUrl]: fixedSetting(EGRESS_URL, FIXED.address),
      [ENV.outputDir]: fixedSetting(OUTPUT.mountPath, FIXED.volume),
      [ENV.runnerHost]: fixedSetting('0.0.0.0', 'clients reach a runner by the address of its pod'),
      [ENV.runnerPort]: fixedSetting(String(PORTS.runner), FIXED.port),
      [ENV.logLevel]: byField('logLevel', env.logLevel),
      [ENV.keepPages]: byField('runner.keepPages', env.runner.keepPages),
      [ENV.insecureLoginOrigins]: byField('runner.insecureLoginOrigins', env.runner.insecureLoginOrigins?.join(',')),
      [ENV.freezeSeconds]: preset(FREEZE_SECONDS),
      [ENV.mcpOrigins]: byField('runner.mcpOrigins', env.runner.mcpOrigins?.join(',')),
      ...runnerTelemetrySettings(env),
      [ENV.runnerId]: fixedSetting(undefined, FIXED.pod),
      [ENV.controllerJwks]: fixedSetting(undefined, `the ConfigMap ${PUBLIC_KEYS.name} holds it`),
      [ENV.chromiumSandbox]: fixedSetting(undefined, 'the sandbox of Chromium is on in every environment'),
      [ENV.remoteBrowser]: fixedSetting(undefined, 'a pod has its own browser'),
      [ENV.portFile]: fixedSetting(undefined, FIXED.pods),
    },
    env.settings?.runner,
  );

/** Settings of the uploader; `runner/uploader/settings.ts` parses them. */
const uploaderSettings = (env: Environment) =>
  resolveSettings(
    {
      [ENV.controllerUrl]: fixedSetting(CONTROLLER_URL, FIXED.address),
      [ENV.egressUrl]: fixedSetting(EGRESS_URL, FIXED.address),
      [ENV.outputDir]: fixedSetting(OUTPUT.mountPath, FIXED.volume),
      [ENV.artifactStore]: byField('artifacts.bucket', artifactStoreUrl(env)),
      [ENV.uploadSeconds]: preset(UPLOAD_SECONDS),
      [ENV.logLevel]: byField('logLevel', env.logLevel),
      [ENV.awsRegion]: byField('artifacts.region', env.artifacts.region),
      ...webIdentitySettings(env.artifacts, true),
      [ENV.runnerId]: fixedSetting(undefined, FIXED.pod),
    },
    env.settings?.uploader,
  );

/** The runner: browser and MCP endpoint, without credentials of its own. */
export function browser(env: Environment): k8s.Container {
  const health = { httpGet: { path: '/healthz', port: portNumber(PORTS.runner) }, timeoutSeconds: 5 };
  return {
    name: BROWSER,
    image: env.images.runner,
    imagePullPolicy: PULL,
    env: [
      runnerId,
      ...plainVariables(runnerSettings(env)),
      ...plainVariables({ HOME: '/tmp' }),
      {
        name: ENV.controllerJwks,
        valueFrom: { configMapKeyRef: { name: PUBLIC_KEYS.name, key: PUBLIC_KEYS.keys[0] } },
      },
    ],
    ports: [{ name: 'mcp', containerPort: PORTS.runner, protocol: 'TCP' }],
    // A browser has a minute to start (controller/compose.ts); the other probes begin after that.
    startupProbe: { ...health, periodSeconds: 1, failureThreshold: 60 },
    // O11: only the port, so that a slow page does not make the pod unready.
    readinessProbe: { tcpSocket: { port: portNumber(PORTS.runner) }, periodSeconds: 5, timeoutSeconds: 2 },
    // Asks the browser, so that a dead Chromium in a live process is noticed. A runner that does not answer at all is killed by its own watchdog
    // (runner/watchdog.ts) within 20 s, before this probe fails: the pod ends with its browser, so the kubelet would wait for the grace of the
    // whole pod, also where a probe names a shorter one, and would not report the end until the upload is over.
    livenessProbe: { ...health, timeoutSeconds: 3, periodSeconds: 5, failureThreshold: 5 },
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
  const { webIdentityRole } = env.artifacts;
  return {
    name: UPLOADER,
    image: env.images.runner,
    imagePullPolicy: PULL,
    restartPolicy: 'Always',
    // tini: as process 1, Node would ignore the SIGTERM of a pod that is deleted while it starts, for the whole
    // grace.
    command: ['tini', '--', 'node', ...RUNNER_COMMAND.flags, RUNNER_COMMAND.uploaderMain],
    env: [runnerId, ...plainVariables(uploaderSettings(env)), ...plainVariables({ HOME: '/tmp' })],
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
