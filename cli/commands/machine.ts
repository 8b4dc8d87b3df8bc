import type { Command } from 'commander';
import { count } from '../arguments.ts';
import type { Cli } from '../connect.ts';
import { EXIT } from '../exit.ts';

/** `up`, `smoke` and `doctor`: their files load the stack, a browser or MCP, so each is imported when it runs. */
export function machineCommands(program: Command, cli: Cli): void {
  program
    .command('up')
    .description('run the local stack (controller, database, egress proxy, warm browsers) until Ctrl-C')
    .option('--port <port>', 'port of the controller (default: the previous one, else any)', count)
    .option('--pool <count>', 'number of browsers to keep warm (default 1)', count)
    .action(async options => {
      const { up } = await import('./up.ts');
      await up(cli, options);
    });
  program
    .command('smoke')
    .description('run a smoke test: start a session, open a page, extract title and text, take a screenshot, archive')
    .argument('<url>', 'page to open')
    .option('--screenshot <path>', 'file for the screenshot (default: smoke.png in the folder)')
    .action(async (url, options) => {
      const { smoke } = await import('./smoke.ts');
      await smoke(cli, url, options);
    });
  program
    .command('doctor')
    .description('check this machine: node, browser, ffmpeg, sandbox, disk, memory, controller')
    .option('--cluster', 'check the deployment in the cluster of KUBECONFIG instead')
    .action(async options => {
      const { doctor } = await import('./doctor.ts');
      if (!(await doctor(cli, options))) cli.exitCode = EXIT.failed;
    });
}
