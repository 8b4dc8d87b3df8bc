/** By hand: `npx node test/model/show.ts` lists the holes, with ids (`7 A seed`) prints their traces, with `deep` runs the large worlds. */
import { type Exploration, explore } from './explore.ts';
import { HOLES, WHOLE, worldOf } from './holes.ts';
import { leaseProtocol } from './protocol.ts';

/** One line for a log: what was explored and how fast. */
export const summary = ({ states, steps, depth, seconds }: Exploration): string =>
  `${states} states, ${steps} steps, depth ${depth}, ${seconds.toFixed(1)} s, ${Math.round(states / seconds)} states/s`;

function show(ids: readonly string[]): void {
  if (ids.length === 0) for (const hole of HOLES) console.log(`${hole.id.padEnd(5)}${hole.title}`);
  for (const hole of HOLES.filter(({ id }) => ids.includes(id))) {
    const found = explore(leaseProtocol(worldOf(hole)), { statesMax: 1_000_000, watch: hole.rule });
    console.log(`\nhole ${hole.id}: ${hole.title} (without ${hole.without.join(', ')}; ${summary(found)})`);
    if (found.violation === undefined) console.log('  not found');
    for (const [at, step] of found.violation?.trace.entries() ?? [])
      console.log(`${String(at + 1).padStart(4)}  ${step}`);
    if (found.violation !== undefined) console.log(`      breaks: ${found.violation.rule}`);
  }
  if (!ids.includes('deep')) return;
  for (const { title, world } of WHOLE.filter(({ deep }) => deep)) {
    const whole = explore(leaseProtocol(world), { statesMax: 5_000_000 });
    console.log(`${title}: ${summary(whole)}`);
    if (whole.violation !== undefined) console.log([whole.violation.rule, ...whole.violation.trace].join('\n    '));
  }
}

if (import.meta.main) show(process.argv.slice(2));
