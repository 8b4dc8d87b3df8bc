import * as z from 'zod';

/** Permissions that a lease may give to every site. All others are denied without a prompt. */
export const PERMISSIONS = ['clipboard-read', 'clipboard-write', 'geolocation', 'notifications'] as const;
export const COLOR_SCHEMES = ['light', 'dark'] as const;

/** A page of a phone, up to one of a 4K screen. */
export const VIEWPORT_LIMITS = { widthMin: 240, widthMax: 3_840, heightMin: 240, heightMax: 2_160 } as const;

/** https://www.rfc-editor.org/rfc/rfc5646#section-2.1, without private and grandfathered tags, which Chromium refuses. */
const locale = z
  .string()
  .max(35)
  .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$/, 'must be a language tag such as de-CH')
  .refine(tag => isAccepted(() => Intl.getCanonicalLocales(tag)), { message: 'must be a language tag such as de-CH' });

const timezone = z
  .string()
  .max(64)
  .regex(/^[A-Za-z][A-Za-z0-9_+/-]*$/, 'must be a name of the IANA database such as Europe/Zurich')
  .refine(timeZone => isAccepted(() => new Intl.DateTimeFormat('en', { timeZone })), {
    message: 'must be a name of the IANA database such as Europe/Zurich',
  });

function isAccepted(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}

/** Features of a lease's browser that pages see. A live lease keeps its own. */
export const pageOptions = z.object({
  viewport: z
    .strictObject({
      width: z.int().min(VIEWPORT_LIMITS.widthMin).max(VIEWPORT_LIMITS.widthMax).describe('Width in CSS pixels.'),
      height: z.int().min(VIEWPORT_LIMITS.heightMin).max(VIEWPORT_LIMITS.heightMax).describe('Height in CSS pixels.'),
    })
    .optional()
    .describe('Size of a page in CSS pixels; default: 1920x1080. A recording stays 1920x1080.'),
  locale: locale
    .optional()
    .describe('Language tag: `navigator.language`, `Accept-Language`, forms of numbers and dates; default: en-US.'),
  timezone: timezone.optional().describe("Name of the IANA database; default: the runner's, UTC in its image."),
  color_scheme: z.enum(COLOR_SCHEMES).optional().describe('`prefers-color-scheme`; default: light.'),
  geolocation: z
    .strictObject({
      latitude: z.number().min(-90).max(90).describe('Degrees north.'),
      longitude: z.number().min(-180).max(180).describe('Degrees east.'),
      accuracy: z.number().min(0).max(1_000_000).optional().describe('Radius in metres.'),
    })
    .optional()
    .describe('Position that sites are given unless `permissions` leaves geolocation out. Default: none.'),
  user_agent_suffix: z
    .string()
    .max(128)
    .regex(/^[!-~]+( [!-~]+)*$/, 'must be visible ASCII such as ExampleAgent/1.0, with single spaces')
    .optional()
    .describe(
      "Text that follows the browser's own user agent, after a space, so that a site can tell this client from others.",
    ),
  permissions: z
    .array(z.enum(PERMISSIONS))
    .max(PERMISSIONS.length)
    .optional()
    .describe('Permissions that every site has; all others are denied without a prompt. Default: clipboard-write.'),
});
export type PageOptions = z.infer<typeof pageOptions>;
