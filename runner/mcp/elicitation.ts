import { randomBytes } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { USER_ACTION_SECONDS } from '../../contract/user-action.ts';
import type { Elicitation } from '../tools/elicitation.ts';

/** One call's elicitation, and what it is answered with in place of its result. */
export interface ElicitedCall extends Elicitation {
  required(): Promise<InputRequiredResult | undefined>;
}

/** Makes the elicitation of a call. Undefined: its client opens no addresses. Throws a `ProtocolError` for a state that is not this call's. */
export type Elicitations = (
  name: string,
  args: Readonly<Record<string, unknown>>,
  context: ServerContext,
) => Promise<ElicitedCall | undefined>;

/** The SDKs of TypeScript and Python give up after 10. */
const ROUNDS_MAX = 8;
const PERSON = 'person';

/** The capability that a client of 2026 declares with each request: it opens addresses. */
const opensAddresses = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({ elicitation: z.looseObject({ url: z.looseObject({}) }) }),
});
const responses = z.looseObject({ [PERSON]: z.looseObject({ action: z.string() }) });
const roundState = z.object({ id: z.uuid(), round: z.int() });
type RoundState = z.infer<typeof roundState>;

/**
 * The state that a round leaves to the next one travels through the client: it is sealed to the call, tool and arguments, by a key that is made
 * here and lives as long as the lease, so that it is worth nothing with another session or epoch.
 */
export function elicitations(): Elicitations {
  const key = randomBytes(32);
  return async (name, args, context) => {
    const { envelope, inputResponses, requestState } = context.mcpReq;
    if (!opensAddresses.safeParse(envelope).success) return undefined;
    const call = JSON.stringify([name, Object.entries(args).sort(([a], [b]) => (a < b ? -1 : 1))]);
    const seal = createRequestStateCodec<RoundState>({ key, ttlSeconds: USER_ACTION_SECONDS.max, bind: () => call });
    const sealed = requestState<string>();
    const state = sealed === undefined ? undefined : await opened(() => seal.verify(sealed, context));
    const action = responses.safeParse(inputResponses).data?.[PERSON].action;
    const round = (state?.round ?? 0) + 1;
    let next: { readonly state: RoundState; readonly question?: { message: string; url: string } } | undefined;
    return {
      earlier: state && { id: state.id, declined: action === 'decline' },
      ask(id, message, url) {
        next = { state: { id, round }, question: { message, url } };
      },
      again(id) {
        if (round < ROUNDS_MAX) next = { state: { id, round } };
      },
      async required() {
        if (next === undefined) return undefined;
        const { state, question } = next;
        return inputRequired({
          requestState: await seal.mint(state, context),
          ...(question && { inputRequests: { [PERSON]: inputRequired.elicitUrl(question) } }),
        });
      },
    };
  };
}

async function opened(verify: () => Promise<RoundState>): Promise<RoundState> {
  try {
    return roundState.parse(await verify());
  } catch {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'Invalid requestState: it belongs to another call or lease, or is too old. Call again without it.',
    );
  }
}
