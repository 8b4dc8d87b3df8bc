import { type Command, Option } from 'commander';
import { TOOLSETS } from '../../contract/assignment.ts';
import { API_NAMESPACES, ENV } from '../../contract/names.ts';
import { parseCount, presetsOption } from '../arguments.ts';
import type { Cli } from '../connect.ts';
import { EXIT } from '../exit.ts';

/** `up`, `console`, `mcp`, `smoke` and `doctor`: their files load the stack, a browser or MCP, so each is imported when it runs. */
export function machineCommands(program: Command, cli: Cli): void {
  program
    .command('up')
    .description('run the local stack (controller, database, egress proxy, warm browsers) until Ctrl-C')
    .option('--port <port>', 'port of the controller (default: the previous one, else any)', parseCount)
    .option('--pool <count>', 'number of browsers to keep warm (default 1)', parseCount)
    .addOption(presetsOption('presets of policies for its sessions while it runs'))
    .action(async options => {
      const { up } = await import('./up.ts');
      await up(cli, options);
    });
  program
    .command('console')
    .description('print a link that opens the console of the running stack, once, within ten minutes')
    .action(async () => {
      const { consoleLinkOf } = await import('./console.ts');
      cli.out.fields(await consoleLinkOf(cli));
    });
  program
    .command('mcp')
    .description('serve a leased browser over stdio to a desktop MCP client, until it closes')
    .addOption(new Option('--user <id>', 'user id').default('desktop').env(ENV.mcpUser))
    .option('--conversation <id>', 'conversation id (default: a new one for each run)')
    .addOption(new Option('--toolset <name>', 'tools to offer').choices(TOOLSETS).default('playwright'))
    .option('--image-text', 'put the picture of browser_screenshot into its text too, as base64')
    .option('--no-video', 'do not record videos')
    .addOption(presetsOption('presets of policies for its browsers').env(ENV.mcpPolicyPresets))
    .action(async options => {
      const { mcp } = await import('./mcp.ts');
      await mcp(cli, options);
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
    .option('--user <id>', "check this user's credentials too")
    .option('--cluster', 'check the deployment in the cluster of KUBECONFIG instead')
    .addOption(
      new Option(
        '--before [namespace]',
        "say what a rollout would cut off in that cluster, with the API's namespace left alone or closed",
      )
        .choices(API_NAMESPACES)
        .preset('existing'),
    )
    .action(async options => {
      const { doctor } = await import('./doctor.ts');
      if (!(await doctor(cli, options))) cli.exitCode = EXIT.failed;
    });
}
