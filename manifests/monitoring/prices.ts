/**
 * The prices with which the cost dashboard starts; a viewer changes them there. Those of `omicron-browser cost` for prod, on demand in
 * eu-central-1, which have their sources in cli/cost/prices.ts.
 */
export const PRICES = {
  /** A c6a.8xlarge takes 1.3968 an hour and holds 120 lean runners. */
  usdPerRunnerHour: 0.0116,
  usdPerGbOut: 0.09,
  usdPerGbMonthStored: 0.0245,
} as const;
