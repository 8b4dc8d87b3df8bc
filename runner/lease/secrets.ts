import { secretNames } from '../../contract/secrets.ts';
import type { CertificateFor } from '../browser/egress-forwarder.ts';
import type { Conceal } from '../budget/cut.ts';
import type { Captures } from '../capture/captures.ts';
import { type Credentials, credentials } from '../credentials/credentials.ts';
import { loginOrigins } from '../credentials/login-origins.ts';
import { siteQuestions } from '../credentials/site-questions.ts';
import { totpCodes } from '../credentials/totp.ts';
import { type BeforeFill, beforeFill } from '../secrecy/before-fill.ts';
import { type Documents, trackDocuments } from '../secrecy/documents.ts';
import { type FilledFields, filledFields } from '../secrecy/filled-fields.ts';
import { maskFields } from '../secrecy/mask-fields.ts';
import { type OwnSites, ownSites } from '../secrecy/own-sites.ts';
import type { Pictures } from '../secrecy/pictures.ts';
import type { LeaseOptions } from './options.ts';
import type { LeaseReports } from './reports.ts';

/** The secrets of a lease, and everything that knows where in its browser they may be. */
export interface LeaseSecrets {
  readonly documents: Documents;
  readonly before: BeforeFill;
  readonly fields: FilledFields;
  readonly credentials: Credentials;
  /** The client certificate that the browser shows to an https origin, as the policy is now. */
  readonly certificateFor: CertificateFor;
  readonly own: OwnSites;
  /** Takes secrets, and what fields with secrets hold, out of a text. */
  readonly conceal: Conceal;
  readonly pictures: Pictures;
}

export function leaseSecrets(
  options: LeaseOptions,
  { policy }: Pick<LeaseReports, 'policy'>,
  { captures, pictures }: { readonly captures: Captures; readonly pictures: Pictures },
): LeaseSecrets {
  const { redeemed, redactor, texts, controller, clock, settings } = options;
  const { context } = options.browser;
  const { secrets, sites, clientCertificates, leaseToken } = redeemed;
  // Not shown in the chat: its answers come from the agent's side.
  const questions = siteQuestions((request, signal) => controller.askUser(leaseToken, request, signal));
  const origins = loginOrigins({
    sites,
    policy: policy.current,
    insecureOrigins: settings.insecureLoginOrigins,
    isAllowedByPerson: questions.isAllowed,
  });
  const { add } = redactor;
  const mint = (site: string, signal: AbortSignal) => controller.totp(leaseToken, site, signal);
  const codes = totpCodes(mint, clock, (code, isSecret) => add('TOTP', code, 'code', isSecret));
  const documents = trackDocuments(context, texts.holds);
  const before = beforeFill(context, documents.isTainted);
  const give = (name: string): void => {
    redactor.give(name);
    options.work.addSecret(name, secrets[name] ?? '');
  };
  // A site may have stored a password in what was restored.
  const brought = options.restored?.tainted === true ? Object.keys(secrets) : (options.profile?.secretsHeld ?? []);
  if (brought.length > 0) documents.guard();
  brought.forEach(give);
  const own = ownSites({
    context,
    sites,
    isAllowed: (site, origin) => origins.decide(site, origin).allowed,
    namesOf: ({ site }) => secretNames(site),
  });
  const fields = filledFields({ holdsSecret: texts.holds, onEdited: (name, text) => add(name, text, 'edited') });
  return {
    documents,
    before,
    fields,
    pictures,
    certificateFor: origin => clientCertificates.find(each => origins.decide(each, origin).allowed)?.certificate,
    credentials: credentials({
      secrets,
      sites,
      origins,
      questions,
      onGiven: give,
      code: codes.now,
      withoutPictures: captures.withoutPictures,
      pictures,
      documents,
      fields,
      before,
    }),
    own,
    conceal: async text => texts.redact(maskFields(text, await fields.texts()), own.names()),
  };
}
