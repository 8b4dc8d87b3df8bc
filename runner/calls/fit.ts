import { fitResult } from '../budget/fit.ts';
import { withImageText } from '../results/image-text.ts';
import { addStructure } from '../results/result.ts';
import type { CallLease } from './call-lease.ts';
import type { Stage } from './stage.ts';

/** Shortens the answer to its budget of tokens, and gives it the form in which clients read it. */
export const fit =
  (lease: Pick<CallLease, 'tokensMax' | 'imageText' | 'texts'>): Stage =>
  async (call, next) => {
    const result = await next();
    if (call.conceal === undefined) throw new Error('The answer was not concealed.');
    const { tool, args = {}, view } = call.admitted ?? {};
    const bounds = {
      shorter: tool?.definition.shorter ?? null,
      tokensMax: view?.tokensMax ?? lease.tokensMax,
      conceal: call.conceal,
      fit: lease.texts.fit,
    };
    const shaped = addStructure(await fitResult(result, bounds));
    // An answer that is withheld here has a code of its own.
    const fitting = { ...shaped, _meta: { ...result._meta, ...shaped._meta } };
    const wantsImageText = tool?.definition.custom?.imageInText && (args.imageText ?? lease.imageText) === true;
    return wantsImageText ? withImageText(fitting) : fitting;
  };
