import { type Refusal, refusalResult } from '../../contract/tool-failure.ts';
import type { CallLease } from './call-lease.ts';
import { admittedOf, type Stage } from './stage.ts';

const RULES_SECONDS = 10;
const CAME_MEANWHILE = 'The page came while the call ran: what it did is done, what it found is withheld.';

/**
 * Once a credential was filled in, refuses calls that could read or move it, and the answers of calls during which such a page came. A tool
 * that fills has looked for its targets before, and taints the page itself: it is asked once.
 */
export const secrecy =
  ({ browser, rules, tools }: Pick<CallLease, 'browser' | 'rules' | 'tools'>): Stage =>
  async (call, next) => {
    const { tool, args } = admittedOf(call);
    const { definition } = tool;
    if (!tool.usesPage || definition.whileTainted === 'exempt' || !tools.documents.isGuarding()) return next();
    const found: Refusal[] = [];
    const ask = () =>
      browser.onPage({ name: definition.name, seconds: RULES_SECONDS }, call.caller.signal, async page => {
        const refusal = await rules.refusal(definition, args, page);
        if (refusal !== undefined) found.push(refusal);
        return { content: [] };
      });
    const asked = await ask();
    const [before] = found;
    if (before !== undefined) return refusalResult(before);
    if (asked.isError) return asked;
    const result = await next();
    if (definition.effect !== 'fills') await ask();
    const [came] = found;
    return came === undefined ? result : refusalResult({ ...came, why: `${came.why} ${CAME_MEANWHILE}` });
  };
