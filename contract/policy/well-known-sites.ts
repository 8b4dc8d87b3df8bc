/**
 * Site keys that people give the credentials of well-known sites, and the registrable domains where such a credential may be filled.
 * Each domain is that of the service itself, whose every https page may receive a password: add one by review only, never one whose subdomains
 * are given to customers.
 */
export const WELL_KNOWN_SITES: Readonly<Record<string, readonly string[]>> = {
  adobe: ['adobe.com'],
  airbnb: ['airbnb.com'],
  aliexpress: ['aliexpress.com'],
  amazon: ['amazon.com'],
  apple: ['apple.com', 'icloud.com'],
  asana: ['asana.com'],
  atlassian: ['atlassian.com'],
  bestbuy: ['bestbuy.com'],
  bitbucket: ['bitbucket.org'],
  booking: ['booking.com'],
  calendly: ['calendly.com'],
  canva: ['canva.com'],
  chatgpt: ['chatgpt.com', 'openai.com'],
  cloudflare: ['cloudflare.com'],
  coinbase: ['coinbase.com'],
  costco: ['costco.com'],
  digitalocean: ['digitalocean.com'],
  discord: ['discord.com'],
  docusign: ['docusign.com', 'docusign.net'],
  doordash: ['doordash.com'],
  dropbox: ['dropbox.com'],
  ebay: ['ebay.com'],
  etsy: ['etsy.com'],
  eventbrite: ['eventbrite.com'],
  expedia: ['expedia.com'],
  facebook: ['facebook.com'],
  fedex: ['fedex.com'],
  figma: ['figma.com'],
  github: ['github.com'],
  gitlab: ['gitlab.com'],
  godaddy: ['godaddy.com'],
  google: ['google.com'],
  homedepot: ['homedepot.com'],
  hubspot: ['hubspot.com'],
  ikea: ['ikea.com'],
  indeed: ['indeed.com'],
  instacart: ['instacart.com'],
  instagram: ['instagram.com'],
  intuit: ['intuit.com'],
  kayak: ['kayak.com'],
  linkedin: ['linkedin.com'],
  lowes: ['lowes.com'],
  mailchimp: ['mailchimp.com'],
  microsoft: ['microsoft.com', 'microsoftonline.com', 'live.com'],
  netflix: ['netflix.com'],
  npm: ['npmjs.com'],
  opentable: ['opentable.com'],
  paypal: ['paypal.com'],
  pinterest: ['pinterest.com'],
  pypi: ['pypi.org'],
  quora: ['quora.com'],
  reddit: ['reddit.com'],
  salesforce: ['salesforce.com'],
  slack: ['slack.com'],
  spotify: ['spotify.com'],
  stripe: ['stripe.com'],
  target: ['target.com'],
  trello: ['trello.com'],
  twitch: ['twitch.tv'],
  twitter: ['x.com', 'twitter.com'],
  uber: ['uber.com'],
  ups: ['ups.com'],
  usps: ['usps.com'],
  walmart: ['walmart.com'],
  wayfair: ['wayfair.com'],
  yelp: ['yelp.com'],
  zillow: ['zillow.com'],
  zoom: ['zoom.us'],
};

/**
 * Places where the credential of a site key may be filled while neither its own url nor a policy names the key;
 * undefined: not known.
 */
export type KnownSites = (key: string) => readonly string[] | undefined;

/** A deployment's own map, and the well-known sites where it takes them. Keys are compared without their case. */
export function knownSites(own: Readonly<Record<string, readonly string[]>>, takesWellKnown: boolean): KnownSites {
  const entries = [...(takesWellKnown ? Object.entries(WELL_KNOWN_SITES) : []), ...Object.entries(own)];
  const sites = new Map(entries.map(([key, targets]) => [key.toLowerCase(), targets]));
  return key => sites.get(key.toLowerCase());
}
