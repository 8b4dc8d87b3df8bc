import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Cli } from '../connect.ts';
import { PRICED_DEPLOYMENTS, type PricedEnvironment } from '../cost/deployments.ts';
import { type CostEstimate, estimateCost, SESSION_HOUR } from '../cost/estimate.ts';
import { PRICED_REGION } from '../cost/prices.ts';

/** `cost`: an estimate; asks no one. */
export function costCommand(program: Command, cli: Cli): void {
  program
    .command('cost')
    .description('estimate what a deployment on AWS costs, each figure with its source and date')
    .requiredOption('--sessions <count>', 'sessions that are leased around the clock', parseSessions)
    .addOption(
      new Option('--env <name>', 'deployment').choices(Object.keys(PRICED_DEPLOYMENTS)).default('prod' as const),
    )
    .option('--fill <percent>', 'taken places on the browser nodes', parsePercent, 70)
    .action((options: { sessions: number; env: PricedEnvironment; fill: number }) => showCost(cli, options));
}

function parseSessions(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 999999.');
  return Number(text);
}

function parsePercent(text: string): number {
  if (!/^([1-9]\d?|100)$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 100.');
  return Number(text);
}

function showCost(cli: Cli, { sessions, env, fill }: { sessions: number; env: PricedEnvironment; fill: number }): void {
  const estimate = estimateCost(PRICED_DEPLOYMENTS[env], sessions, fill / 100);
  for (const limit of estimate.limits)
    cli.progress(`${env} does not hold ${sessions} sessions as configured: ${limit}`);
  const document = { env, region: PRICED_REGION, assumed_of_a_session_hour: SESSION_HOUR, ...estimate };
  cli.out.rows(
    document,
    ['ITEM', 'A MONTH', 'UNIT', 'USD', 'USD A MONTH', 'USD A SESSION-HOUR', 'SOURCE', 'READ'],
    [
      ...estimate.lines.map(line => [
        line.item,
        Math.round(line.quantity),
        line.per,
        line.price_usd,
        line.usd_month.toFixed(2),
        line.usd_session_hour.toFixed(5),
        line.source,
        line.read,
      ]),
      totalOf(estimate),
    ],
  );
}

const totalOf = ({ usd_month, usd_session_hour }: CostEstimate) => [
  '(total)',
  null,
  null,
  null,
  usd_month.toFixed(2),
  usd_session_hour.toFixed(5),
  null,
  null,
];
