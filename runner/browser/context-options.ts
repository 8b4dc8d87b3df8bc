import type { BrowserContextOptions } from 'playwright-core';
import type { PageOptions } from '../../contract/page-options.ts';

/** Options of a browser context that a lease decides. */
export type ContextOptions = Pick<
  BrowserContextOptions,
  'viewport' | 'locale' | 'timezoneId' | 'colorScheme' | 'geolocation' | 'userAgent' | 'permissions'
>;

/** Size of a recording (O12), and of a page unless the lease has another. */
export const VIEWPORT = { width: 1920, height: 1080 } as const;

/**
 * A button that copies works, as for a person; what a page puts there is text and pictures. Everything else that a page asks for is refused at
 * once: no prompt is shown.
 */
const GRANTED = ['clipboard-write'];

export const DEFAULT_CONTEXT: ContextOptions = { viewport: VIEWPORT, permissions: GRANTED };

/** `userAgent`: the browser's own. */
export function contextOptions(options: PageOptions, userAgent: string): ContextOptions {
  const { viewport, locale, timezone, color_scheme, geolocation, user_agent_suffix: suffix } = options;
  const { permissions = geolocation === undefined ? GRANTED : [...GRANTED, 'geolocation'] } = options;
  return {
    ...DEFAULT_CONTEXT,
    permissions,
    ...(viewport && { viewport }),
    ...(locale && { locale }),
    ...(timezone && { timezoneId: canonicalName(timezone) }),
    ...(color_scheme && { colorScheme: color_scheme }),
    ...(geolocation && { geolocation }),
    ...(suffix && { userAgent: `${userAgent} ${suffix}` }),
  };
}

/** Chromium takes a name in its own case alone. */
const canonicalName = (timeZone: string): string =>
  new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
