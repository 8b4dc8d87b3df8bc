import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { blocksDrawn } from './blocks-drawn.ts';
import type { Call } from './fuzz-steps.ts';
import { leaksOf } from './leaks.ts';
import { BLOCKS, type HostileLease, PASSWORD } from './lease-on-hostile-site.ts';

/** Places in which more than half of a password was found. */
export interface Finding {
  readonly in: 'result' | 'picture' | 'event' | 'log' | 'video' | 'span';
  /** The sequence, up to the call whose answer had it. */
  readonly calls?: readonly Call[];
  /** The finding, and its place. */
  readonly found: string;
}

export interface Counts {
  sequences: number;
  pictures: number;
  frames: number;
  events: number;
  /** Spans at the collector, by name. */
  readonly spans: Record<string, number>;
  readonly calls: Record<string, number>;
  /** Refusals and failures by their code. */
  readonly codes: Record<string, number>;
}

interface Taken {
  readonly picture: Buffer;
  readonly calls: readonly Call[];
}

/** A lease whose every answer is searched for the passwords. */
export interface FuzzedLease {
  readonly counts: Counts;
  /** Makes the calls one after the other, and searches the texts of their results. */
  run(calls: readonly Call[]): Promise<Finding[]>;
  /** Ends the runner, then searches the pictures, and what it reported, logged, recorded and traced. */
  end(): Promise<Finding[]>;
}

const FOUND_CHARACTERS_MAX = 1_500;

export function fuzzedLease({ call, controller, runner, collector }: HostileLease): FuzzedLease {
  const counts: Counts = { sequences: 0, pictures: 0, frames: 0, events: 0, spans: {}, calls: {}, codes: {} };
  const add = (to: Record<string, number>, key: string) => {
    to[key] = (to[key] ?? 0) + 1;
  };
  const taken: Taken[] = [];
  const clean = new Set<string>();
  const search = (text: string): string[] => {
    if (clean.has(text)) return [];
    const parts = [PASSWORD, BLOCKS].flatMap(value => leaksOf(text, value));
    if (parts.length === 0) clean.add(text);
    return parts.length === 0 ? [] : [`${parts[0]} in ${text.slice(0, FOUND_CHARACTERS_MAX)}`];
  };
  /** Each span whole, and each of its values once more by itself: a value is looked for as it is, and as JSON writes it. */
  const searchSpans = (): Finding[] =>
    collector.spans().flatMap(({ name, whole, attributes }) => {
      add(counts.spans, name);
      const found = [whole, ...Object.values(attributes).map(String)].flatMap(search);
      return found.map(each => ({ in: 'span' as const, found: each }));
    });
  return {
    counts,
    async run(calls) {
      counts.sequences += 1;
      const findings: Finding[] = [];
      for (const [at, { tool, args }] of calls.entries()) {
        const { text, pictures, failed, code } = await call(tool, args);
        add(counts.calls, tool);
        if (failed) add(counts.codes, code ?? 'failed');
        const until = calls.slice(0, at + 1);
        findings.push(...search(text).map(found => ({ in: 'result' as const, calls: until, found })));
        taken.push(...pictures.map(picture => ({ picture, calls: until })));
      }
      return findings;
    },
    async end() {
      runner.child.kill('SIGTERM');
      await runner.exited;
      counts.events = controller.events.length;
      const events = controller.events.flatMap(event => search(JSON.stringify(event)));
      const findings: Finding[] = events.map(found => ({ in: 'event', found }));
      findings.push(...search(runner.output()).map(found => ({ in: 'log' as const, found })));
      findings.push(...searchSpans());
      counts.pictures = taken.length;
      for (const ofOneType of [taken.filter(isPng), taken.filter(each => !isPng(each))]) {
        const shown = await blocksDrawn(ofOneType.map(({ picture }) => picture));
        for (const { calls } of ofOneType.filter((_, at) => shown[at]))
          findings.push({ in: 'picture', calls, found: 'blocks' });
      }
      for (const file of readdirSync(runner.outputDir).filter(name => name.endsWith('.webm'))) {
        const shown = await blocksDrawn(join(runner.outputDir, file));
        counts.frames += shown.length;
        const leaks = shown.filter(Boolean).length;
        if (leaks > 0) findings.push({ in: 'video', found: `${leaks} of ${shown.length} frames of ${file}` });
      }
      return findings;
    },
  };
}

const isPng = ({ picture }: Taken): boolean => picture[0] === 0x89;
