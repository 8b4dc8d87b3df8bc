import { describe, expect, test } from 'vitest';
import { explore, type Model, NEVER_QUIET } from './explore.ts';

/** A counter that may go up by one or three and, where `heals` says so, back to zero. */
const counter = (heals: (at: number) => boolean, broken: (at: number) => string[] = () => []): Model<number> => ({
  initial: 0,
  key: String,
  broken,
  quiet: at => at === 0,
  steps: at => [
    ...(at + 1 <= 10 ? [{ name: `one ${at}`, next: at + 1, heals: false, broken: [] }] : []),
    ...(at + 3 <= 10 ? [{ name: `three ${at}`, next: at + 3, heals: false, broken: [] }] : []),
    ...(at > 0 ? [{ name: `back ${at}`, next: 0, heals: heals(at), broken: at === 9 ? ['fell from nine'] : [] }] : []),
  ],
});

describe('the checker', () => {
  test('visits every reachable state once and counts the steps of each kind', () => {
    const seen = explore(
      counter(() => true),
      { statesMax: 100, watch: 'nothing' },
    );
    expect(seen).toMatchObject({ states: 11, steps: 28, violation: undefined });
    expect(Object.fromEntries(seen.kinds)).toEqual({ one: 10, three: 8, back: 10 });
  });

  test('gives one of the shortest traces to a state that breaks a rule', () => {
    const found = explore(
      counter(
        () => true,
        at => (at === 7 ? ['seven'] : []),
      ),
      { statesMax: 100 },
    );
    expect(found.violation?.rule).toBe('seven');
    expect(found.violation?.trace).toHaveLength(3);
  });

  test('sees a step that breaks a rule though it leads to a state already known', () => {
    const { violation } = explore(
      counter(() => true),
      { statesMax: 100 },
    );
    expect(violation).toEqual({ rule: 'fell from nine', trace: ['three 0', 'three 3', 'three 6', 'back 9'] });
  });

  test('passes over every rule but the watched one', () => {
    const rules = (at: number): string[] => (at === 2 ? ['two'] : at === 8 ? ['eight'] : []);
    const { violation } = explore(
      counter(() => true, rules),
      { statesMax: 100, watch: 'eight' },
    );
    expect(violation?.trace).toHaveLength(4);
  });

  test('finds the nearest state that heals to no quiet one, and does not count luck as healing', () => {
    const { violation } = explore(
      counter(at => at < 5),
      { statesMax: 100, watch: NEVER_QUIET },
    );
    expect(violation).toEqual({ rule: NEVER_QUIET, trace: ['three 0', 'three 3'] });
  });

  test('refuses to answer for a model that is larger than its bound', () => {
    expect(() =>
      explore(
        counter(() => true),
        { statesMax: 5, watch: 'nothing' },
      ),
    ).toThrow('more than 5 states');
  });
});
