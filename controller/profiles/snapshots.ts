import type { Logger } from 'pino';
import { type HibernationRequest, type SessionSnapshot, sessionSnapshot } from '../../contract/hibernation.ts';
import type { LeaseKey } from '../../contract/lease-key.ts';
import { OmicronError } from '../../contract/problem.ts';
import { PROFILE_LIMITS } from '../../contract/profile.ts';
import type { Hibernations } from '../store/hibernations.ts';
import { tooLarge } from './profile-keeper.ts';
import { saveRefusedError } from './save-refused.ts';
import { digestContent } from './sealed.ts';
import type { SealedObjects } from './sealed-objects.ts';

export interface SnapshotParts {
  hibernations: Hibernations;
  objects: SealedObjects;
  /** How long a hibernated session is kept. */
  keepSeconds: number;
  log: Logger;
}

/** Snapshots of hibernated sessions: written whole before the session gives its runner back, and read by the start that restores it. */
export class Snapshots {
  readonly #parts: SnapshotParts;

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
  }

  /** Throws `lease_in_use` when the lease goes on, and `lease_superseded` when it is over already. */
  async keep(lease: LeaseKey, { why, idle_seconds, snapshot }: HibernationRequest): Promise<void> {
    const { hibernations, objects, keepSeconds, log } = this.#parts;
    const plain = Buffer.from(JSON.stringify(snapshot));
    if (plain.length > PROFILE_LIMITS.stateBytesMax) throw tooLarge();
    const begun = await hibernations.begin(lease, idle_seconds);
    if ('code' in begun) throw saveRefusedError(begun);
    const key = await objects.keyOf(begun);
    const target = { ...begun, base: begun.version, runner: lease.runner_id };
    const save = await objects.write(target, key, plain, 'snapshot');
    const tabs = snapshot.tabs.length;
    const how = { why, idleSeconds: idle_seconds, keepSeconds, digest: digestContent(key, plain), tabs };
    const refusal = await hibernations.commit(lease, save, how);
    if (refusal !== null) throw saveRefusedError(refusal);
    log.info({ session_id: lease.session_id, epoch: lease.epoch, why, tabs, bytes: save.bytes }, 'session hibernated');
  }

  /** The snapshot that the runner of this start restores. */
  async ofStart(lease: LeaseKey): Promise<SessionSnapshot> {
    const row = await this.#parts.hibernations.ofStart(lease);
    if (row?.object == null) throw new OmicronError('lease_ended', 'This runner restores no session.');
    const plain = await this.#parts.objects.open(row, row.object, 'snapshot');
    return sessionSnapshot.parse(JSON.parse(plain.toString()));
  }
}
