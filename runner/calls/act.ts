import type { CallToolResult } from '@modelcontextprotocol/server';
import { withNewTabs } from '../acting/new-tabs.ts';
import type { PageForm } from '../tools/custom-form.ts';
import { onlyReads, type ToolDefinition } from '../tools/define-tool.ts';
import type { PlaywrightForm } from '../tools/playwright-form.ts';
import { closeFileChoosers, withFileChooser } from '../upstream/file-choosers.ts';
import { withoutFiles } from '../upstream/result.ts';
import { workOnPage } from './bounds.ts';
import { browserCall } from './browser-call.ts';
import type { CallLease } from './call-lease.ts';
import { admittedOf, type Call, type Stage } from './stage.ts';

type ActLease = Pick<CallLease, 'browser' | 'rules' | 'tools' | 'clock'>;

/** Runs the code of the tool, in the form that the arguments are of. */
export const act =
  (lease: ActLease): Stage =>
  call => {
    const { tool, args } = admittedOf(call);
    const form = tool.formOf(args);
    if (!('usesPage' in form)) return runPlaywrightForm(lease, call, form);
    if (form.usesPage) return runPageForm(lease, call, form);
    return form.run(args, {
      lease: lease.tools,
      clock: lease.clock,
      elicitation: call.caller.elicitation,
      signal: call.inTime ?? call.caller.signal,
    });
  };

async function runPlaywrightForm(
  { browser, rules, tools }: ActLease,
  call: Call,
  form: PlaywrightForm,
): Promise<CallToolResult> {
  const { tool, args } = admittedOf(call);
  const { definition } = tool;
  if (!keepsFileChooser(definition, form)) closeFileChoosers(await browser.parts.current());
  const browsing = browserCall(browser.parts, {
    form,
    tool: definition,
    lease: tools,
    signal: call.caller.signal,
    refusal: page => rules.refusal(definition, args, page),
  });
  return withoutFiles(await form.run(args, browsing));
}

const keepsFileChooser = ({ effect }: ToolDefinition, form: PlaywrightForm): boolean =>
  onlyReads(effect) || form.keepsFileChooser === true;

function runPageForm({ browser, tools }: ActLease, call: Call, form: PageForm): Promise<CallToolResult> {
  const { definition } = admittedOf(call).tool;
  const { args } = admittedOf(call);
  const { signal } = call.caller;
  const { parts } = browser;
  const { settled, challenge } = parts.settler;
  return parts.leaving(definition, signal, async () =>
    workOnPage(await parts.current(), parts.guard, { seconds: definition.seconds, signal }, (page, inTime) => {
      const work = () => form.run(args, { page, lease: tools, signal: inTime, settled, challenge });
      return onlyReads(definition.effect) ? work() : withFileChooser(page, () => withNewTabs(page, work));
    }),
  );
}
