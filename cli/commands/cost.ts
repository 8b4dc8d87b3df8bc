import { type Command, InvalidArgumentError, Option } from 'commander';
import { RUNNER_SHAPE_NAMES } from '../../contract/runner-shapes.ts';
import type { Cli } from '../connect.ts';
import { BILL_PARTS, type BillLine, sumOf } from '../cost/bill.ts';
import { type CostChoices, PRICED_DEPLOYMENTS, type PricedEnvironment } from '../cost/deployments.ts';
import { estimateCost, SESSION_HOUR, withChoices } from '../cost/estimate.ts';
import { priceDay, readDay } from '../cost/last-day.ts';
import { INSTANCE_NAMES, PRICED_REGIONS } from '../cost/prices.ts';
import { UsageError } from '../exit.ts';

interface CostOptions extends CostChoices {
  readonly sessions?: number;
  readonly env: PricedEnvironment;
  readonly fill: number;
  readonly hibernated: number;
  readonly lastDay?: true;
  readonly prometheus?: string;
}

/** `cost`: an estimate, which asks no one; or what the last day cost, from the metrics. */
export function costCommand(program: Command, cli: Cli): void {
  program
    .command('cost')
    .description(
      'estimate what a deployment on AWS costs, or what its last day did, each figure with its source and date',
    )
    .addOption(
      new Option('--sessions <count>', 'sessions that are leased around the clock')
        .argParser(parseSessions)
        .conflicts(['lastDay', 'prometheus']),
    )
    .addOption(
      new Option('--env <name>', 'deployment').choices(Object.keys(PRICED_DEPLOYMENTS)).default('prod' as const),
    )
    .option('--fill <percent>', 'taken places on the browser nodes', parseFill, 70)
    .addOption(
      new Option('--shape <name>', 'size of runners (default: that of the deployment)').choices(RUNNER_SHAPE_NAMES),
    )
    .addOption(
      new Option('--instance <type>', 'browser nodes (default: those of the deployment)').choices(INSTANCE_NAMES),
    )
    .option('--spot <percent>', 'spot instances among browser nodes (default: those of the deployment)', parseShare)
    .option('--hibernated <percent>', 'session-hours without a runner', parseShare, 0)
    .addOption(new Option('--region <name>', 'prices (default: those of the deployment)').choices(PRICED_REGIONS))
    .option('--last-day', 'price what ran in the last 24 hours, by --prometheus')
    .option('--prometheus <url>', 'Prometheus that scrapes the deployment', parsePrometheus)
    .action((options: CostOptions) => (options.lastDay ? showLastDay(cli, options) : showEstimate(cli, options)));
}

function parseSessions(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 999999.');
  return Number(text);
}

function parseFill(text: string): number {
  if (!/^([1-9]\d?|100)$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 100.');
  return Number(text);
}

function parseShare(text: string): number {
  if (!/^(\d|[1-9]\d|100)$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 0 to 100.');
  return Number(text);
}

function parsePrometheus(text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? ''))
    throw new InvalidArgumentError('It must be an address such as http://localhost:9090.');
  return text;
}

const AMOUNT = ['ITEM', 'AMOUNT', 'UNIT', 'USD EACH', 'USD', 'USD A SESSION-HOUR', 'SOURCE', 'READ'];

function showEstimate(cli: Cli, options: CostOptions): void {
  const { sessions, env, fill, hibernated } = options;
  if (sessions === undefined) throw new UsageError('Give --sessions <count> for an estimate, or --last-day.');
  const estimate = estimateCost(withChoices(PRICED_DEPLOYMENTS[env], options), {
    sessions,
    fill: fill / 100,
    hibernated: hibernated / 100,
  });
  for (const limit of estimate.limits)
    cli.progress(`${env} does not hold ${sessions} sessions as configured: ${limit}`);
  const sessionHours = estimate.usd_month / estimate.usd_session_hour;
  cli.out.rows({ env, assumed_of_a_session_hour: SESSION_HOUR, ...estimate }, AMOUNT, [
    ...billRows(estimate.lines, sessionHours),
    aimRow(estimate.aim),
  ]);
}

async function showLastDay(cli: Cli, options: CostOptions): Promise<void> {
  const { env, fill, prometheus } = options;
  if (prometheus === undefined) throw new UsageError('--last-day reads metrics: give --prometheus <url>.');
  const deployment = withChoices(PRICED_DEPLOYMENTS[env], options);
  const day = priceDay(deployment, await readDay(prometheus, cli.signal), fill / 100);
  cli.out.rows(
    { env, region: deployment.region, shape: deployment.shape, fill: fill / 100, ...day },
    AMOUNT,
    billRows(day.lines, day.used.sessionHours),
  );
}

function billRows(lines: readonly BillLine[], sessionHours: number): (string | number | null)[][] {
  const perHour = (usd: number) => (sessionHours === 0 ? null : (usd / sessionHours).toFixed(5));
  const sumRow = (name: string, usd: number) => [name, null, null, null, usd.toFixed(2), perHour(usd), null, null];
  return [
    ...lines.map(line => [
      line.item,
      Math.round(line.quantity * 100) / 100,
      line.per,
      line.price_usd,
      line.usd.toFixed(2),
      perHour(line.usd),
      line.source,
      line.read,
    ]),
    ...BILL_PARTS.map(part => sumRow(`(${part})`, sumOf(lines, part))),
    sumRow('(total)', sumOf(lines)),
  ];
}

const aimRow = ({ of, usd_session_hour, reached }: ReturnType<typeof estimateCost>['aim']) => [
  `(aim for ${of}: ${reached ? 'reached' : 'not reached'})`,
  ...[null, null, null, null],
  usd_session_hour.toFixed(5),
  ...[null, null],
];
