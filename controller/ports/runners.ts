import type { Logger } from 'pino';
import type { RunnerHealth } from '../../contract/assignment.ts';
import type { Clock } from '../../time/clock.ts';

/** A runner that is up and unleased. */
export interface WarmRunner {
  bootId: string;
  /** Base URL under which the controller reaches it, e.g. `http://127.0.0.1:41234`. */
  endpoint: string;
}

export interface Death {
  /** Its process is known to have ended; else it is on its way out and may still act. */
  ended: boolean;
  reason: string;
}

/** A request to change something at the place of runners, e.g. `create` of `pods`. */
export interface ProviderWrite {
  readonly verb: string;
  readonly resource: string;
  readonly ok: boolean;
}

/** Passed by a controller to the provider of its runners. */
export interface ProviderContext {
  /** Address at which runners reach this controller; known once it listens. */
  controllerUrl: Promise<string>;
  /** Public keys with which runners verify assignments: a JWKS, as JSON. */
  jwks: string;
  /** The answer of a runner at /healthz. Null: it does not answer, not yet or not any more. */
  healthOf(endpoint: string, signal: AbortSignal): Promise<RunnerHealth | null>;
  /** Called when this runner may have ended. */
  onChange(runnerId: string): void;
  /** Called when the place of runners has answered a request to change something, or has not. */
  onWrite(write: ProviderWrite): void;
  /** Aborts when the controller stops. */
  stopped: AbortSignal;
  clock: Clock;
  log: Logger;
}

export type MakeProvider = (context: ProviderContext) => RunnerProvider | Promise<RunnerProvider>;

/** Abilities of a provider. A lease that demands one that it has not is refused. */
export interface ProviderCapabilities {
  /** Their traffic passes the egress proxy, which holds a policy's rules about sites. */
  readonly holdsSiteRules: boolean;
  /** Their files are on the disk of their runner, which keeps them in profiles of the form `complete`. */
  readonly keepsBrowserFiles: boolean;
  /** Number of runners that it starts at once, unless a setting has another: pods start on many nodes, processes on one machine. */
  readonly launchesAtOnce: number;
}

/**
 * The place of runners: child processes, with browsers here or elsewhere, or pods. `runnerId` names a runner everywhere;
 * every call may be repeated.
 */
export interface RunnerProvider {
  /** In the rows of its runners, e.g. `kubernetes`. */
  readonly name: string;
  readonly capabilities: ProviderCapabilities;
  /** Digest of what `create` would make now; another digest makes warm runners stale. */
  templateDigest(): Promise<string>;
  /** Starts the runner; does nothing when it exists. Rejects when `signal` aborts: it is not tried again, and may exist or not. */
  create(runnerId: string, signal: AbortSignal): Promise<void>;
  /**
   * Resolves when it is warm. Throws `runner_start_failed` or `sandbox_runtime_required` when it died, cannot start
   * or is not there, with the reason; and when `signal` aborts, where that is known with what it waited for, else an
   * AbortError.
   */
  whenWarm(runnerId: string, signal: AbortSignal): Promise<WarmRunner>;
  /** Whether it is dead or dying, from what is known without asking it. Null: it runs, as far as is known. */
  deathOf(runnerId: string): Promise<Death | null>;
  /**
   * Stops it, lets its recording be sent, removes what it left. Resolves `deleting` until it is gone; call again
   * until then.
   */
  remove(runnerId: string): Promise<'deleting' | 'gone'>;
  /** Address for agents, and the name of its Kubernetes pod and Service (null elsewhere). */
  addressOf(runner: { id: string; endpoint: string }): { mcpUrl: string; workload: string | null };
  /** Marks it as this lease's, in the background. */
  markLeased(runnerId: string, lease: { sessionId: string; epoch: number; userIdHash: string }): void;
  /** Every runner that exists here, whatever its state. */
  list(): Promise<string[]>;
}
