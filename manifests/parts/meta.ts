import { k8s } from 'cdk8s-plus-28';
import { LABELS } from '../../contract/names.ts';

/** Sync waves of Argo CD: a wave begins when the one before it is healthy. */
export const WAVES = {
  /** Namespaces and priority classes, which everything else refers to. */
  base: -3,
  /** Accounts, rights, quotas, network and admission policies: all in force before the first pod. */
  isolation: -2,
  bindings: -1,
  config: 0,
  workloads: 1,
  /** Objects that need running pods. */
  after: 2,
} as const;

interface MetaOptions {
  readonly namespace?: string;
  readonly wave: keyof typeof WAVES;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Rules of `policies/manifests` that the object breaks, each with its reason. */
  readonly waives?: Readonly<Record<string, string>>;
}

/** Metadata of an object that this repository renders. */
export function meta(name: string, { namespace, wave, labels, annotations, waives = {} }: MetaOptions) {
  return {
    name,
    ...(namespace ? { namespace } : {}),
    labels: { 'app.kubernetes.io/part-of': 'omicron-browser', ...labels },
    annotations: {
      'argocd.argoproj.io/sync-wave': String(WAVES[wave]),
      ...annotations,
      ...Object.fromEntries(Object.entries(waives).map(([rule, why]) => [`ignore-check.kube-linter.io/${rule}`, why])),
    },
  };
}

/** Argo CD keeps the object when it is removed from the repository, and when the Application is deleted. */
export const KEEP = { 'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false' } as const;

export const CONTROLLER = { [LABELS.app]: LABELS.controllerApp } as const;
export const EGRESS = { [LABELS.app]: LABELS.egressApp } as const;
export const CONSOLE = { [LABELS.app]: LABELS.consoleApp } as const;
export const RUNNER = { [LABELS.app]: LABELS.runnerApp } as const;

export const selectNamespace = (name: string): k8s.LabelSelector => ({
  matchLabels: { 'kubernetes.io/metadata.name': name },
});

export const portNumber = (number: number): k8s.IntOrString => k8s.IntOrString.fromNumber(number);
/** A bare number would be rendered as one, which server-side apply rejects. */
export const quantity = (text: string): k8s.Quantity => k8s.Quantity.fromString(text);
