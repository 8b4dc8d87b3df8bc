/**
 * List prices of us-east-1 on demand, read in November 2026 (https://aws.amazon.com/ec2/pricing/on-demand/,
 * https://aws.amazon.com/s3/pricing/): where the cost dashboard starts; a viewer changes them there.
 */
export const PRICES = {
  /** An m6a.2xlarge takes 0.3456 an hour and holds 7 runners of 1 CPU and 2 GiB. */
  usdPerRunnerHour: 0.0494,
  usdPerGbOut: 0.09,
  usdPerGbMonthStored: 0.023,
} as const;
