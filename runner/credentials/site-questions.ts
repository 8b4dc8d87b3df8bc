import { randomUUID } from 'node:crypto';
import { credentialQuestion, USER_ACTION_SECONDS } from '../../contract/user-action.ts';
import type { AskUser } from './ask-user.ts';

/** Whether the person allows a credential, of which nothing says where it may be used, on the site of a page. */
export interface SiteQuestions {
  /** The person allowed it in this lease. */
  isAllowed(site: string, origin: string): boolean;
  /** Asks the person, or goes on waiting for the answer; resolves after some seconds without one. */
  ask(site: string, origin: string, signal: AbortSignal): Promise<'allowed' | 'declined' | 'pending' | 'failed'>;
}

/** The shortest limit of a tool that fills is 30 s. */
const WAIT_MS = 12_000;

export function siteQuestions(askUser: AskUser): SiteQuestions {
  /** By the key and the target: the one id under which it is asked, and the answer. */
  const asked = new Map<string, { readonly id: string; answer?: 'allowed' | 'declined' }>();
  const keyOf = (site: string, origin: string) =>
    JSON.stringify([site, credentialQuestion(site, origin).credential.target]);

  return {
    isAllowed: (site, origin) => origin !== 'null' && asked.get(keyOf(site, origin))?.answer === 'allowed',
    async ask(site, origin, signal) {
      const key = keyOf(site, origin);
      const question = asked.get(key) ?? { id: randomUUID() };
      asked.set(key, question);
      if (question.answer !== undefined) return question.answer;
      const { reason } = credentialQuestion(site, origin);
      const request = {
        id: question.id,
        reason,
        credential: { site, origin },
        timeout_seconds: USER_ACTION_SECONDS.max,
        wait_ms: WAIT_MS,
      };
      const action = await askUser(request, signal).catch(() => undefined);
      if (action === undefined) return 'failed';
      if (action.status === 'pending') return 'pending';
      if (action.status === 'expired')
        asked.delete(key); // the next fill asks again
      else question.answer = action.status === 'done' ? 'allowed' : 'declined';
      return question.answer ?? 'pending';
    },
  };
}
