import type { Page } from 'playwright-core';
import * as z from 'zod';
import { refusalResult } from '../../contract/tool-failure.ts';
import { actor, pinTarget, safeTarget, type Target } from '../acting/target.ts';
import { unfitFields } from '../acting/unfit-fields.ts';
import { notOneElement, pageResult } from '../results/result.ts';
import { choicesOfFields, fieldsIn } from '../secrecy/rules.ts';
import { pageForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';
import { ACTION } from './playwright-form.ts';
import { putText, readyForSecrets, secretsLast } from './put-text.ts';

export const fillAndSubmit = defineTool({
  name: 'browser_fill_and_submit',
  seconds: 45,
  effect: 'fills',
  whileTainted: { choices: args => choicesOfFields(fieldsIn(args)) },
  shorter: null,
  custom: pageForm({
    sets: ['compat', 'both'],
    title: 'Fill and send a form',
    description: 'Fill the fields of a form and submit it',
    settles: 'itself',
    snapshotAfter: false,
    input: {
      fields: z
        .array(z.object({ selector: z.string().min(1), value: z.string().describe('Text, or the name of a secret') }))
        .min(1)
        .max(50),
      submitSelector: z.string().min(1).optional().describe('Left out: Enter is pressed in the last field'),
    },
    compatible: true,
    output: {},
    async run({ fields, submitSelector }, { page, settled, lease, signal }) {
      const { credentials, before } = lease;
      const unknown = fields.map(({ value }) => credentials.refuseUnknown(value)).find(each => each !== undefined);
      if (unknown !== undefined) return refusalResult(unknown);
      const fills = fields.some(({ value }) => credentials.isName(value));
      const targets = [
        ...fields.map(({ selector }) => selector),
        ...(submitSelector === undefined ? [] : [submitSelector]),
      ];
      const stale = await readyForSecrets(
        page,
        targets,
        fields.map(({ value }) => value),
        credentials,
      );
      if (stale !== undefined) return stale;
      const aim = (selector: string) => (fills ? safeTarget(page, selector, before) : selector);
      const steps: { selector: Target; value: string }[] = [];
      for (const { selector, value } of fields) {
        const found = await aim(selector);
        if (found === undefined) return notOneElement(selector);
        steps.push({ selector: found, value });
      }
      const submit = submitSelector === undefined ? undefined : await aim(submitSelector);
      if (submitSelector !== undefined && submit === undefined) return notOneElement(submitSelector);
      for (const { selector, value } of secretsLast(steps, credentials)) {
        const refusal = await putText(page, selector, value, lease, signal);
        if (refusal !== undefined) return refusal;
      }
      const last = steps.at(-1)?.selector ?? 'body';
      await settled(page, () => (submit === undefined ? submitFrom(page, last) : actor(page, submit).click(ACTION)));
      return pageResult(page, {}, await unfitFields(page, lease.documents));
    },
  }),
});

/** A list takes Enter for itself. */
async function submitFrom(page: Page, target: Target): Promise<void> {
  const element = await pinTarget(page, target, ACTION.timeout);
  if (element === undefined || !(await element.evaluate(askForm))) await actor(page, target).press('Enter', ACTION);
}

/** Runs in the page. */
function askForm(element: object): boolean {
  const { localName, form } = element as { localName: string; form?: { requestSubmit(): void } | null }; // an element has them
  if (localName !== 'select' || !form) return false;
  form.requestSubmit();
  return true;
}
