import { readFileSync } from 'node:fs';
import { processTreeOfProc } from '../../process/process-tree.ts';

/** Kinds of the headless shell's processes that a page can make die, by what their command lines hold. */
export const PROCESS_KINDS = {
  renderer: '--type=renderer',
  GPU: '--type=gpu-process',
  network: '--utility-sub-type=network.mojom.NetworkService',
  audio: '--utility-sub-type=audio.mojom.AudioService',
} as const;

export type ProcessKind = keyof typeof PROCESS_KINDS;

/** Processes of one kind in the browser with this id. */
export function processesOf(browserPid: number, kind: ProcessKind): number[] {
  const all = processTreeOfProc(browserPid) ?? [];
  return all.map(({ pid }) => pid).filter(pid => commandOf(pid).includes(PROCESS_KINDS[kind]));
}

/** Ends all processes of a kind; returns how many there were. */
export function killAll(browserPid: number, kind: ProcessKind, signal: NodeJS.Signals = 'SIGKILL'): number {
  return processesOf(browserPid, kind).filter(pid => kill(pid, signal)).length;
}

function kill(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // it ended meanwhile
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
