import {
  type KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  ListWatch,
  Watch,
} from '@kubernetes/client-node';
import type { Logger } from 'pino';
import { type Backoff, backoffMs } from '../../../time/backoff.ts';
import type { Clock } from '../../../time/clock.ts';
import { Wake } from '../../wake.ts';

/** A watch may fall silent without an error, so everything is listed again this often. */
const RESYNC_MS = 60_000;
/** Objects of one page of a list: what is parsed at once holds up everything else. */
const PAGE = 100;
const RESTART: Backoff = { firstMs: 500, maxMs: 10_000, jitter: 0.5 };

export interface ListWatchOptions<T extends KubernetesObject> {
  config: KubeConfig;
  /** e.g. `/api/v1/namespaces/omicron-browser/pods`. */
  path: string;
  /** A page of them: `limit` and `_continue` are the API server's own. */
  list: (page: { limit: number; _continue?: string }) => Promise<KubernetesListObject<T>>;
  /** The part of an object that is kept. */
  keep: (object: T) => T;
  labelSelector?: string;
  /** Called with each object that was added, changed or removed. */
  onChange?: (object: T) => void;
  clock: Clock;
  log: Logger;
}

/**
 * Objects of one kind in one namespace, kept up to date by a watch; listed again when it fails, and at an interval.
 */
export class Watched<T extends KubernetesObject> {
  readonly #options: ListWatchOptions<T>;
  #informer: ListWatch<T> | undefined;
  #restarts = 0;
  #timer = new AbortController();
  #stopped = true;
  /** For each object that is waited for, by name. */
  readonly #awaited = new Map<string, Wake>();

  constructor(options: ListWatchOptions<T>) {
    this.#options = options;
  }

  /** Resolves when the first list is there. */
  async start(): Promise<void> {
    this.#stopped = false;
    while (!this.#informer && !this.#stopped) {
      await this.#renew();
      if (!this.#informer) await this.#pause(this.#restartMs());
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#timer.abort();
    void this.#informer?.stop();
    this.#kickAll();
  }

  get(name: string, namespace: string): T | undefined {
    return this.#informer?.get(name, namespace);
  }

  all(): readonly T[] {
    return this.#informer?.list() ?? [];
  }

  /** Resolves when this object is another than `seen`, when `ms` have passed or when `signal` aborts. Changes of others wake nothing. */
  async changed(name: string, namespace: string, seen: T | undefined, ms: number, signal: AbortSignal): Promise<void> {
    if (this.get(name, namespace) !== seen) return;
    const wake = this.#awaited.get(name) ?? new Wake();
    this.#awaited.set(name, wake);
    await wake.wait(wake.kicks, ms, this.#options.clock, signal);
    if (wake.isIdle && this.#awaited.get(name) === wake) this.#awaited.delete(name);
  }

  #kickAll(): void {
    for (const wake of this.#awaited.values()) wake.kick();
  }

  #seen(object: T): void {
    this.#awaited.get(object.metadata?.name ?? '')?.kick();
    this.#options.onChange?.(object);
  }

  /**
   * A new informer replaces the old one once it has listed: readers always see a whole list. False: it could not
   * list.
   */
  async #renew(): Promise<boolean> {
    const { path, labelSelector, log } = this.#options;
    const informer = new ListWatch<T>(path, this.#watch(), () => this.#list(), false, labelSelector);
    let failed = false;
    informer.on('change', object => this.#informer === informer && this.#seen(object));
    informer.on('error', error => {
      failed = true;
      if (this.#stopped || (this.#informer && this.#informer !== informer)) return;
      log.warn({ path, err: error }, 'watch failed; relisting');
      if (this.#informer) void this.#renewAfter(this.#restartMs());
    });
    await informer.start();
    if (failed || this.#stopped) {
      void informer.stop();
      return false;
    }
    const before = this.#informer;
    this.#informer = informer;
    this.#restarts = 0;
    if (before) void before.stop();
    this.#kickAll();
    void this.#renewAfter(RESYNC_MS * (0.8 + this.#options.clock.random() * 0.4));
    return true;
  }

  /** Page by page, each let go except what is kept. */
  async #list(): Promise<KubernetesListObject<T>> {
    const { list, keep } = this.#options;
    const items: T[] = [];
    let _continue: string | undefined;
    for (;;) {
      const page = await list({ limit: PAGE, ...(_continue === undefined ? {} : { _continue }) });
      for (const item of page.items) items.push(keep(item));
      _continue = page.metadata?._continue || undefined;
      if (_continue === undefined) return { metadata: page.metadata ?? {}, items };
    }
  }

  #watch(): Watch {
    const watch = new Watch(this.#options.config);
    const begin = watch.watch.bind(watch);
    watch.watch = (path, query, onEvent, onDone) =>
      begin(path, query, (phase, object, event) => onEvent(phase, this.#kept(phase, object), event), onDone);
    return watch;
  }

  /** An error's status and a bookmark are no objects of the kind. */
  #kept(phase: string, object: T): T {
    return ['ADDED', 'MODIFIED', 'DELETED'].includes(phase) ? this.#options.keep(object) : object;
  }

  /** The last call counts: it ends the pause of the one before. */
  async #renewAfter(ms: number): Promise<void> {
    let pauseMs = ms;
    while ((await this.#pause(pauseMs)) && !(await this.#renew())) pauseMs = this.#restartMs();
  }

  /** False: another pause began, or it was stopped. */
  async #pause(ms: number): Promise<boolean> {
    this.#timer.abort();
    if (this.#stopped) return false;
    const timer = new AbortController();
    this.#timer = timer;
    await this.#options.clock.sleep(ms, timer.signal, true).catch(() => {});
    return !timer.signal.aborted;
  }

  #restartMs(): number {
    const { clock } = this.#options;
    const ms = backoffMs(this.#restarts, RESTART, clock.random);
    this.#restarts += 1;
    return ms;
  }
}
