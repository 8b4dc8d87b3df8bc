/** A breadth-first explicit-state model checker: small enough to be read, exact within the sizes of the model it is given. */

export type Step<S> = {
  name: string;
  next: S;
  /** The system does it by itself, sooner or later: a loop or time, neither a caller nor luck nor a fault. */
  heals: boolean;
  /** Rules that the step itself breaks. */
  broken: readonly string[];
};

export type Model<S> = {
  initial: S;
  /** Equal for states that no step and no rule can distinguish. */
  key: (state: S) => string;
  steps: (state: S) => Step<S>[];
  /** Rules that the state breaks. */
  broken: (state: S) => readonly string[];
  /** Nothing is half done: a place where the system may stay. */
  quiet: (state: S) => boolean;
};

export type Violation = { rule: string; trace: string[] };

export type Exploration = {
  states: number;
  steps: number;
  /** Length of the longest of the shortest paths. */
  depth: number;
  seconds: number;
  violation: Violation | undefined;
  /** How often each kind of step (its name's first word) was taken: a kind that is missing was never tested. */
  kinds: Map<string, number>;
};

/** The rule of a state from which healing steps alone reach no quiet state. */
export const NEVER_QUIET = 'from here no healing step leads to a quiet state';

export type Bounds = {
  /** More states than this throw: a model that outgrows its bounds has proved nothing. */
  statesMax: number;
  /** Only this rule ends the search; without it, any. */
  watch?: string;
};

/** Visits every reachable state, nearest first, so that the trace of a violation is one of the shortest. */
export function explore<S>(model: Model<S>, { statesMax, watch }: Bounds): Exploration {
  const started = performance.now();
  const ids = new Map<string, number>([[model.key(model.initial), 0]]);
  const parents = [-1];
  const choices = [0];
  const quiet = [model.quiet(model.initial)];
  const healing = { from: [] as number[], to: [] as number[] };
  const kinds = new Map<string, number>();
  let steps = 0;
  let depth = 0;

  const traceTo = (id: number): string[] => {
    const path: number[] = [];
    for (let at = id; at > 0; at = parents[at] ?? 0) path.push(choices[at] ?? 0);
    let state = model.initial;
    return path.reverse().map(choice => {
      const step = model.steps(state)[choice];
      if (step === undefined) throw new Error('the steps of a state must always be the same, in the same order');
      state = step.next;
      return step.name;
    });
  };
  const exploration = (violation?: Violation): Exploration => ({
    states: ids.size,
    steps,
    depth,
    seconds: (performance.now() - started) / 1000,
    violation,
    kinds,
  });
  const watched = (rules: readonly string[]): string | undefined =>
    watch === undefined ? rules[0] : rules.find(rule => rule === watch);

  let level: { id: number; state: S }[] = [{ id: 0, state: model.initial }];
  for (; level.length > 0; depth++) {
    const following: typeof level = [];
    for (const { id, state } of level) {
      for (const [choice, step] of model.steps(state).entries()) {
        const key = model.key(step.next);
        const known = ids.get(key);
        steps++;
        const kind = kindOf(step.name);
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        const rule = watched(known === undefined ? [...step.broken, ...model.broken(step.next)] : step.broken);
        if (rule !== undefined) return exploration({ rule, trace: [...traceTo(id), step.name] });
        const to = known ?? ids.size;
        if (step.heals) {
          healing.from.push(id);
          healing.to.push(to);
        }
        if (known !== undefined) continue;
        if (to >= statesMax) throw new Error(`more than ${statesMax} states: make the model's sizes smaller`);
        ids.set(key, to);
        parents.push(id);
        choices.push(choice);
        quiet.push(model.quiet(step.next));
        following.push({ id: to, state: step.next });
      }
    }
    level = following;
  }

  const stuck = watched([NEVER_QUIET]) === undefined ? -1 : firstThatNeverHeals(quiet, healing);
  return exploration(stuck < 0 ? undefined : { rule: NEVER_QUIET, trace: traceTo(stuck) });
}

/** First word of a step's name. */
export function kindOf(name: string): string {
  const end = name.indexOf(' ');
  return end < 0 ? name : name.slice(0, end);
}

/** Walks the healing steps backwards from all quiet states; the first state not met (the nearest to the start), or -1. */
function firstThatNeverHeals(quiet: boolean[], healing: { from: number[]; to: number[] }): number {
  const offsets = new Int32Array(quiet.length + 1);
  for (const to of healing.to) offsets[to + 1] = (offsets[to + 1] ?? 0) + 1;
  for (let id = 0; id < quiet.length; id++) offsets[id + 1] = (offsets[id + 1] ?? 0) + (offsets[id] ?? 0);
  const free = offsets.slice();
  const sources = new Int32Array(healing.from.length);
  healing.from.forEach((from, edge) => {
    const to = healing.to[edge] ?? 0;
    sources[free[to] ?? 0] = from;
    free[to] = (free[to] ?? 0) + 1;
  });
  const heals = Uint8Array.from(quiet, Number);
  const found = quiet.flatMap((isQuiet, id) => (isQuiet ? [id] : []));
  for (let id = found.pop(); id !== undefined; id = found.pop()) {
    for (const from of sources.subarray(offsets[id], offsets[id + 1])) {
      if (heals[from]) continue;
      heals[from] = 1;
      found.push(from);
    }
  }
  return heals.indexOf(0);
}
