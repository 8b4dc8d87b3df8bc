import { kubectl } from '../../cluster/kubectl.ts';
import { LABELS, NAMESPACES } from '../../contract/names.ts';
import { kill9, onNode, processesLike } from './node-faults.ts';

export const inSystem = ['-n', NAMESPACES.system] as const;

interface Replica {
  readonly name: string;
  readonly uid: string;
  readonly address: string;
}

/** The controller's replicas that serve. */
export async function controllers(): Promise<Replica[]> {
  const path = '{range .items[*]}{.metadata.name} {.metadata.uid} {.status.podIP}{"\\n"}{end}';
  const list = await kubectl([
    ...[...inSystem, 'get', 'pods', '-l', `${LABELS.app}=${LABELS.controllerApp}`],
    ...['--field-selector=status.phase=Running', '-o', `jsonpath=${path}`],
  ]);
  return list
    .trim()
    .split('\n')
    .map(line => {
      const [name = '', uid = '', address = ''] = line.split(' ');
      return { name, uid, address };
    });
}

/**
 * Ends replicas as a node that dies does: no signal that they could heed, no farewell. Their Deployment makes new
 * ones.
 */
export async function killControllers(replicas: readonly Replica[]): Promise<void> {
  if (onNode) for (const { uid } of replicas) kill9(await processesLike(uid, /controller/));
  await kubectl([
    ...[...inSystem, 'delete', 'pod', '--grace-period=0', '--force'],
    ...replicas.map(({ name }) => name),
  ]);
}
