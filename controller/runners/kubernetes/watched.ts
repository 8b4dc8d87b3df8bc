import {
  type KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node';
import type { Logger } from 'pino';

/** A watch may fall silent without an error, so everything is listed anew this often. */
const RESYNC_MS = 60_000;
const RESTART_MS = { min: 250, max: 10_000 };

/** Objects of one kind in one namespace, kept up to date by a watch; listed anew when it breaks, and now and then anyway. */
export class Watched<T extends KubernetesObject> {
  readonly #make: () => ReturnType<typeof makeInformer<T>>;
  readonly #log: Logger;
  readonly #what: string;
  #informer: ReturnType<typeof makeInformer<T>> | undefined;
  #next = Promise.withResolvers<void>();
  #restarts = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopped = true;

  constructor(options: {
    config: KubeConfig;
    /** e.g. `/api/v1/namespaces/omicron-browser/pods`. */
    path: string;
    list: () => Promise<KubernetesListObject<T>>;
    labelSelector?: string;
    log: Logger;
  }) {
    const { config, path, list, labelSelector, log } = options;
    this.#make = () => makeInformer<T>(config, path, list, labelSelector);
    this.#what = path;
    this.#log = log;
  }

  /** Resolves when the first list is there. */
  async start(): Promise<void> {
    this.#stopped = false;
    while (!this.#informer && !this.#stopped) {
      await this.#renew();
      if (!this.#informer) await new Promise(resolve => setTimeout(resolve, this.#pauseMs()));
    }
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    void this.#informer?.stop();
    this.#changed();
  }

  get(name: string, namespace: string): T | undefined {
    return this.#informer?.get(name, namespace);
  }

  all(): readonly T[] {
    return this.#informer?.list() ?? [];
  }

  /** Resolves at the next change; take it before looking, or a change in between is missed. */
  get change(): Promise<void> {
    return this.#next.promise;
  }

  #changed(): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve();
  }

  /** A new informer replaces the old one once it has listed: readers always see a whole list. False: it could not list. */
  async #renew(): Promise<boolean> {
    clearTimeout(this.#timer);
    const informer = this.#make();
    let failed = false;
    informer.on('change', () => this.#informer === informer && this.#changed());
    informer.on('error', error => {
      failed = true;
      if (this.#stopped || (this.#informer && this.#informer !== informer)) return;
      this.#log.warn({ what: this.#what, err: error }, 'a watch broke; it is listed anew');
      if (this.#informer) this.#again(this.#pauseMs());
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
    this.#changed();
    this.#again(RESYNC_MS * (0.8 + Math.random() * 0.4));
    return true;
  }

  #again(afterMs: number): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(async () => {
      if (!(await this.#renew())) this.#again(this.#pauseMs());
    }, afterMs);
    this.#timer.unref();
  }

  #pauseMs(): number {
    this.#restarts += 1;
    const pauseMs = Math.min(RESTART_MS.max, RESTART_MS.min * 2 ** this.#restarts);
    return pauseMs * (0.5 + Math.random() / 2);
  }
}
