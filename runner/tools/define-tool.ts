import type { WhileTainted } from '../secrecy/rules.ts';
import type { CustomForm } from './custom-form.ts';
import type { PlaywrightForm } from './playwright-form.ts';

/** The effect of a call on the page and its site. Tools that read or wait are listed as read-only, those that move as not destructive. */
export type Effect =
  | 'reads'
  /** Changes nothing itself, but the page may be another one when it ends. */
  | 'waits'
  /** Changes what is shown; nothing is lost by it. */
  | 'moves'
  | 'acts'
  /** Finds its targets before it fills them, and taints the document itself. */
  | 'fills'
  /** Goes to an address: dialogs that hold the page back are answered, and a tab that is gone is replaced. */
  | 'leaves'
  /** Closes every tab. */
  | 'closes';

/** All that is the same in both forms of a tool. */
interface Facts {
  readonly name: string;
  /** The longest that one call may take. */
  readonly seconds: number;
  readonly effect: Effect;
  /** May a call run in a tab that may hold a secret? */
  readonly whileTainted: WhileTainted;
  /** Advice for a shorter answer, in an answer that was cut; null: its answers are short. */
  readonly shorter: string | null;
}

/** Each form, or both: in the toolset `both`, a tool of Playwright MCP accepts the arguments of the compatible one too. */
type Forms =
  | { readonly playwright: PlaywrightForm; readonly custom?: CustomForm }
  | { readonly playwright?: undefined; readonly custom: CustomForm };

/** One tool, with all that is known of it. The same for every lease. */
export type ToolDefinition = Facts & Forms;

export type Form = PlaywrightForm | CustomForm;

/** Checks at compile time that a tool leaves nothing out; keeps the types of its forms. */
export const defineTool = <T extends ToolDefinition>(tool: T): T => tool;

/** Annotations of MCP, which follow from the effect. */
export const annotationsOf = (effect: Effect): { readOnlyHint: true } | { destructiveHint: boolean } =>
  onlyReads(effect) ? { readOnlyHint: true } : { destructiveHint: effect !== 'moves' };

export const onlyReads = (effect: Effect): boolean => effect === 'reads' || effect === 'waits';
