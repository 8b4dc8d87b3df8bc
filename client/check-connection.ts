import { ENV } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import { SERVICE_SECRET_BYTES_MIN } from '../contract/tokens.ts';
import type { Connection } from './controller-api.ts';

/** The two settings as an application may give them: read from an environment where they are not set, or from JavaScript. */
type Given = { readonly [Field in keyof Connection]: unknown };

/**
 * Checks the controller's address and the secret before the first call. Throws `not_configured`, with the variable that usually holds
 * the faulty one.
 */
export function checkConnection({ url, serviceSecret }: Given): Connection {
  return { url: checkUrl(url), serviceSecret: checkSecret(serviceSecret) };
}

function checkUrl(url: unknown): string {
  if (typeof url !== 'string' || url.trim() === '')
    throw refused(
      `The controller's address (url) is not set: set ${ENV.controllerUrl}, for example to http://127.0.0.1:8080.`,
    );
  const protocol = URL.canParse(url) ? new URL(url).protocol : '';
  if (protocol === 'http:' || protocol === 'https:') return url;
  const shown = url.replace(/[^/@]*@/, ''); // a password may stand before the @
  if (url.includes('://'))
    throw refused(`The controller's address "${shown}" (${ENV.controllerUrl}) is no http or https URL.`);
  throw refused(
    `The controller's address "${shown}" (${ENV.controllerUrl}) has no scheme: write http://${shown}, or https://${shown} where it is behind TLS.`,
  );
}

function checkSecret(secret: unknown): string {
  if (typeof secret !== 'string' || secret === '')
    throw refused(
      `The service secret (serviceSecret) is not set: set ${ENV.serviceSecret} to the controller's own value.`,
    );
  const bytes = new TextEncoder().encode(secret).length;
  if (bytes >= SERVICE_SECRET_BYTES_MIN) return secret;
  throw refused(
    `The service secret (${ENV.serviceSecret}) has ${bytes} bytes and must have at least ${SERVICE_SECRET_BYTES_MIN} bytes: use the controller's own value.`,
  );
}

const refused = (message: string) => new OmicronError('not_configured', message);
