import { expect, test } from 'vitest';
import { CODE_META } from '../../../contract/tool-failure.ts';
import { fit } from '../../../runner/calls/fit.ts';
import type { Call } from '../../../runner/calls/stage.ts';
import { redactor } from '../../../runner/reporting/redact.ts';
import { longTexts } from '../../../runner/text-thread/long-texts.ts';
import { actingTool, answering, stageCall, text, toolNamed } from './stage-call.ts';

const stage = fit({ tokensMax: 300, imageText: false, texts: longTexts(redactor({})) });
const concealed = (call: Call): Call => ({ ...call, conceal: async given => given.replaceAll('hunter22', 'XXX') });
const long = Array.from({ length: 5_000 }, (_, n) => `Line ${n}`).join('\n');

test('an answer is cut to the tokens of the call, with the advice of its tool', async () => {
  const tool = actingTool({ shorter: 'fewer lines are shorter' });
  const call = concealed(stageCall({ tool, view: { snapshot: 'none', tokensMax: 500 } }));
  const { content } = await stage(call, answering(text(long)));
  expect(JSON.stringify(content)).toMatch(/cut: the answer takes about \d+ tokens; fewer lines are shorter; tokensMax/);
});

test('secrets are taken out of texts, and JSON is given as structure too', async () => {
  const result = await stage(concealed(stageCall()), answering(text('{"success":true,"text":"hunter22"}')));
  expect(result.structuredContent).toEqual({ success: true, text: 'XXX' });
});

test('an answer whose JSON is broken by what was taken out is withheld, under a code of its own', async () => {
  const broken = { ...text('{"success":true,"text":"hunter22'), _meta: { mark: true } };
  const { isError, _meta } = await stage(concealed(stageCall()), answering(broken));
  expect({ isError, _meta }).toEqual({ isError: true, _meta: { mark: true, [CODE_META]: 'result_withheld' } });
});

test('an answer that was not concealed is not given', async () => {
  await expect(stage(stageCall(), answering(text('hunter22')))).rejects.toThrow('not concealed');
});

test('a picture is in the text too, where the tool has that and the call wants it', async () => {
  const picture = { type: 'image', data: 'AAAA', mimeType: 'image/png' } as const;
  const shot = answering({ content: [...text('{"success":true}').content, picture] });
  const call = (tool: string) => concealed(stageCall({ tool: toolNamed(tool), args: { imageText: true } }));
  expect(JSON.stringify((await stage(call('browser_screenshot'), shot)).content[0])).toContain('AAAA');
  expect(JSON.stringify((await stage(call('browser_click'), shot)).content[0])).not.toContain('AAAA');
});
