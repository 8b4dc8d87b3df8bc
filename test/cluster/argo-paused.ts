import { hasArgo } from '../../cluster/gitops.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { ARGOCD } from '../../infra/root-application.ts';

/**
 * Argo CD, where it is installed, would put back at once what is changed by hand: it pauses until this is disposed
 * of.
 */
export async function argoPaused(): Promise<AsyncDisposable> {
  const annotate = (change: string) =>
    kubectl([
      '-n',
      ARGOCD,
      'annotate',
      'applications',
      '--all',
      '--overwrite',
      `argocd.argoproj.io/skip-reconcile${change}`,
    ]);
  const argo = await hasArgo();
  if (argo) await annotate('=true');
  return { [Symbol.asyncDispose]: async () => void (argo && (await annotate('-'))) };
}
