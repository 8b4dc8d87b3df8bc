import fc from 'fast-check';
import { HOSTILE_PAGES } from '../../site/hostile-site.ts';
import {
  ANYWHERE,
  type Call,
  COMPATIBLE_STEPS,
  calls,
  commonSteps,
  FIELD,
  FORM,
  fillSteps,
  PLAYWRIGHT_STEPS,
  type Place,
  type Step,
} from './fuzz-steps.ts';

export interface FuzzedSite {
  readonly url: string;
  readonly toolset: 'both' | 'compat';
  /** The filled values: names of passwords, or values that the lease does not know, which are typed as any text. */
  readonly passwords: { readonly names: readonly string[] } | { readonly values: readonly string[] };
}

/** A step of which the call was chosen. */
interface Chosen extends Pick<Step, 'at' | 'to'> {
  readonly call: Call;
}

/** Sequences that go to a page, fill a password in there, and then do what they can to see it. */
export function sequences({ url, toolset, passwords }: FuzzedSite): fc.Arbitrary<readonly Call[]> {
  const target = toolset === 'compat' ? 'selector' : 'target';
  const go = (page: string): Call => ({ tool: 'browser_navigate', args: { url: `${url}/${page}` } });
  const typed = (at: readonly Place[], texts: readonly string[]): Step => ({
    weight: 2,
    at,
    calls: calls('browser_type', ...texts.map(text => ({ [target]: '#p', text }))),
  });
  const isNamed = 'names' in passwords;
  const texts = isNamed ? passwords.names : passwords.values;
  const fills = isNamed ? texts.flatMap(name => fillSteps(toolset, target, name)) : [typed(FORM, texts)];
  const steps = [
    ...commonSteps(target, go),
    ...(toolset === 'compat' ? COMPATIBLE_STEPS : PLAYWRIGHT_STEPS),
    { weight: 1, at: ANYWHERE, calls: HOSTILE_PAGES.map(go), to: 'form' as const },
    typed(FIELD, texts),
  ];
  return fc
    .record({
      start: fc.constantFrom(...HOSTILE_PAGES),
      listening: fc.constantFrom(toolset === 'both', ...Array.from({ length: 9 }, () => false)),
      fill: oneOf(fills),
      wanted: fc.array(oneOf(steps), { minLength: 3, maxLength: 7, size: 'max' }),
    })
    .map(({ start, listening, fill, wanted }) => {
      const made: Call[] = [go(start), ...(listening ? [LISTENING] : [])];
      let place: Place = 'form';
      for (const { at, to, call } of [fill, ...wanted]) {
        if (!at.includes(place)) continue;
        made.push(call);
        place = to ?? place;
      }
      return [...made, ...ending(made, place, go)];
    });
}

const oneOf = (steps: readonly Step[]): fc.Arbitrary<Chosen> =>
  fc.oneof(
    ...steps.map(({ weight, calls: some, ...step }) => ({
      weight,
      arbitrary: fc.constantFrom(...some).map(call => ({ ...step, call })),
    })),
  );

/** A script that waits for the value. */
const LISTENING: Call = {
  tool: 'browser_evaluate',
  args: {
    function: '() => addEventListener("input", event => { document.title = [...event.target.value].join("-") })',
  },
};

/** Takes away what would keep later pages closed: a dialog, storage, and a history whose addresses have the value. */
function ending(made: readonly Call[], place: Place, go: (page: string) => Call): Call[] {
  const text = JSON.stringify(made);
  const isInAddress = text.includes('#address') || (/\/get"/.test(text) && /#send|Enter|login|submit/.test(text));
  return [
    ...(place === 'dialog' ? calls('browser_handle_dialog', { accept: true }) : []),
    ...(text.includes('#keep') ? [go('forget')] : []),
    ...(isInAddress ? calls('browser_close', {}) : []),
  ];
}
