import type { Page } from 'playwright-core';

/** O20: what only a person can do is said, never worked around. */
const CHALLENGES = [
  'iframe[src*="recaptcha" i][src*="bframe" i]',
  // The badge of reCAPTCHA where it only watches, which asks for nothing, is `size=invisible`.
  'iframe[src*="recaptcha" i][src*="anchor" i]:not([src*="size=invisible" i])',
  'iframe[src*="hcaptcha" i]',
  'iframe[src*="challenges.cloudflare.com" i]',
  'iframe[src*="arkoselabs" i]',
  'iframe[title*="captcha" i]:not([src*="size=invisible" i])',
  '[id*="captcha" i]:is(div, form, img, canvas)',
  'input[autocomplete="one-time-code"]',
  'input[name*="otp" i], input[name*="mfa" i], input[name*="2fa" i], input[name*="captcha" i]',
  'input[name*="verification" i][name*="code" i], input[id*="one-time" i]',
].join(', ');

/** Whether an element of the page is visible; false where the page does not answer. */
export const isVisible = (page: Page, selectors: string): Promise<boolean> =>
  page
    .locator(selectors)
    .filter({ visible: true })
    .count()
    .then(
      count => count > 0,
      () => false,
    );

/** Whether the page shows a CAPTCHA, or asks for a second factor. */
export const showsChallenge = (page: Page): Promise<boolean> => isVisible(page, CHALLENGES);
