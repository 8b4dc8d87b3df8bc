import { readFileSync } from 'node:fs';

/** Resources that the browser of one lease may take from its machine. Bytes, unless named otherwise. */
export interface BrowserLimits {
  /** All processes of the browser together. */
  readonly memoryBytes: number;
  /** One renderer: a tab, or the tabs and frames that Chromium gives one process. */
  readonly rendererBytes: number;
  /** Processes that serve all tabs: the browser process, network, graphics. */
  readonly sharedBytes: number;
  /** Memory of the pages in the runner's own process. */
  readonly runnerBytes: number;
  /** One download. */
  readonly downloadBytes: number;
  /** All downloads of the lease, and how many there may be. */
  readonly downloadsBytes: number;
  readonly downloadsMax: number;
}

export interface LimitSettings {
  /** MiB; undefined: a share of the container's limit, where there is one. */
  readonly browserMemoryMb: number | undefined;
  /** MiB; undefined: likewise. */
  readonly runnerMemoryMb: number | undefined;
  readonly downloadMb: number;
  readonly downloadsMb: number;
  readonly downloadsMax: number;
}

export const DEFAULT_LIMITS: LimitSettings = {
  browserMemoryMb: undefined,
  runnerMemoryMb: undefined,
  downloadMb: 100,
  downloadsMb: 500,
  downloadsMax: 100,
};

const MIB = 1024 * 1024;
/** Without a container: a large web application fits, and four of them fit into a laptop. */
const DEFAULT_MB = 2_560;
/** The rest of a container's memory is the runner's, ffmpeg's and /dev/shm's. */
const CONTAINER_SHARE = 0.65;
/** A lease that does ordinary work holds 50 MiB; one long answer takes 150 more for a moment. */
const RUNNER_DEFAULT_MB = 512;
const RUNNER_CONTAINER_SHARE = 0.2;

/** `containerBytes`: the memory limit that the kernel holds this process to, if any. */
export function browserLimits(settings: LimitSettings, containerBytes = containerMemoryBytes()): BrowserLimits {
  const { browserMemoryMb, runnerMemoryMb } = settings;
  const shareOf = (defaultMb: number, share: number) =>
    Math.min(defaultMb * MIB, (containerBytes ?? Infinity) * share) / MIB;
  const memoryBytes = (browserMemoryMb ?? shareOf(DEFAULT_MB, CONTAINER_SHARE)) * MIB;
  return {
    memoryBytes: Math.floor(memoryBytes),
    runnerBytes: Math.floor((runnerMemoryMb ?? shareOf(RUNNER_DEFAULT_MB, RUNNER_CONTAINER_SHARE)) * MIB),
    rendererBytes: Math.floor(memoryBytes / 2),
    sharedBytes: Math.floor(memoryBytes * 0.4),
    downloadBytes: settings.downloadMb * MIB,
    downloadsBytes: settings.downloadsMb * MIB,
    downloadsMax: settings.downloadsMax,
  };
}

/** Version 2 of cgroups, then version 1, as a container sees its own. No limit is `max`, or more than any machine has. */
const LIMIT_FILES = ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'];
const UNLIMITED_BYTES = 2 ** 50;

/** The memory limit of this container; undefined: none. */
export function containerMemoryBytes(files: readonly string[] = LIMIT_FILES): number | undefined {
  for (const file of files) {
    try {
      const bytes = Number(readFileSync(file, 'utf8'));
      if (bytes > 0 && bytes < UNLIMITED_BYTES) return bytes;
    } catch {
      // not this version of cgroups, or no Linux
    }
  }
  return undefined;
}
