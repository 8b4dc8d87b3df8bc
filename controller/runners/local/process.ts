import { readFileSync } from 'node:fs';

/** A process as this machine knows it: an id may be reused, an id with its start time may not. */
export interface ProcessId {
  pid: number;
  /** Clock ticks after boot, from /proc; null where there is no /proc. */
  startTicks: string | null;
}

/** Fields after the command's closing parenthesis: state is the first, start time the 20th (proc_pid_stat(5)). */
function statOf(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null; // no such process, or no /proc
  }
}

export const processId = (pid: number): ProcessId => ({ pid, startTicks: statOf(pid)?.[19] ?? null });

/** Whether exactly this process runs; a zombie does not. */
export function isRunning({ pid, startTicks }: ProcessId): boolean {
  if (startTicks !== null) {
    const stat = statOf(pid);
    return stat !== null && stat[0] !== 'Z' && stat[0] !== 'X' && stat[19] === startTicks;
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Signals the process, SIGKILL also the group that it leads where the system has groups; does nothing when it is gone. */
export function signal(id: ProcessId, name: 'SIGTERM' | 'SIGKILL'): void {
  if (!isRunning(id)) return;
  if (name === 'SIGKILL') kill(-id.pid, name);
  kill(id.pid, name);
}

/** Kills processes that were seen a moment ago. */
export function killAll(pids: readonly number[]): void {
  for (const pid of pids) kill(pid, 'SIGKILL');
}

/** Does nothing when it is gone. */
function kill(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
