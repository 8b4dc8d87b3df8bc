import type { Artifact, SessionEvent } from '../../contract/session.ts';

/** A video of one tab, and when it began. */
export interface Video {
  readonly id: string;
  readonly epoch: number;
  /** `tab-001.webm`. */
  readonly file: string;
  readonly startMs: number;
}

/** Something that happened in a recorded lease, in milliseconds since 1970. */
export interface Chapter {
  readonly event: SessionEvent;
  readonly startMs: number;
  /** After `startMs` for what takes time: calls, takeovers, requests to a person. */
  readonly endMs: number;
  readonly tone: 'call' | 'person' | 'other';
}

/** The stored videos of a lease, in the order in which their tabs were opened. */
export function videosOf(artifacts: readonly Artifact[], events: readonly SessionEvent[]): Video[] {
  return artifacts
    .filter(({ kind, state }) => kind === 'video' && state === 'stored')
    .map(({ id, epoch, uri, created_at }) => {
      const file = uri?.split('/').at(-1) ?? '';
      const started = events.find(
        event => event.epoch === epoch && event.kind === 'recording.started' && event.data.file === file,
      );
      const ready = events.find(event => event.epoch === epoch && event.kind === 'session.ready');
      return { id, epoch, file, startMs: Date.parse((started ?? ready)?.at ?? created_at) };
    })
    .sort((a, b) => a.startMs - b.startMs || a.file.localeCompare(b.file));
}

/** The kind that begins a span, by the kind that ends it. */
const ENDS: Readonly<Record<string, string>> = {
  'control.given_back': 'control.taken',
  'user_action.answered': 'user_action.requested',
};

/** The events of one lease with their spans, in the order of their beginnings. */
export function chaptersOf(events: readonly SessionEvent[], epoch: number): Chapter[] {
  const chapters: Chapter[] = [];
  for (const event of events) {
    if (event.epoch !== epoch) continue;
    const { kind, data } = event;
    const atMs = Date.parse(event.at);
    const begun = chapters.findLastIndex(each => each.event.kind === ENDS[kind] && each.event.data.id === data.id);
    const opened = chapters[begun];
    if (opened !== undefined) chapters[begun] = { ...opened, endMs: atMs };
    const tone = kind === 'tool.call' ? 'call' : /^(control|user_action)\./.test(kind) ? 'person' : 'other';
    const tookMs = tone === 'call' ? Number(data.duration_ms ?? 0) : 0;
    chapters.push({ event, startMs: atMs - tookMs, endMs: atMs, tone });
  }
  return chapters.sort((a, b) => a.startMs - b.startMs);
}

/** The video that shows this moment: the one that is shown if it does, else the newest that has begun. */
export function videoAt(videos: readonly Video[], atMs: number, shown: Video | undefined): Video | undefined {
  if (shown !== undefined && atMs >= shown.startMs) return shown;
  return videos.findLast(({ startMs }) => startMs <= atMs) ?? videos[0];
}

/** `1:07`. */
export function clockOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
