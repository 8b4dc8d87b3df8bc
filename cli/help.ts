import type { Command } from 'commander';
import { ENV } from '../contract/names.ts';
import { EXIT, EXIT_MEANINGS } from './exit.ts';

/** Command lines that help and docs/reference/command.md show, by command; without the program's name. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  up: ['up --pool 2'],
  mcp: ['mcp --user ada --conversation chat-1'],
  smoke: ['smoke https://example.com --screenshot page.png'],
  doctor: ['doctor', 'doctor --cluster', 'doctor --cluster --before existing'],
  'session start': [
    'session start --user ada --conversation chat-1 --show-token',
    'session start --user ada --conversation chat-1 --profile work --tag team=search',
  ],
  'session list': ['session list --user ada --status ready -o json'],
  'session show': [
    'session show --user ada --conversation chat-1 --events',
    'session show ID --events --code policy_blocked',
  ],
  'session close': ['session close --user ada --conversation chat-1'],
  'session answer': ['session answer SESSION ACTION done --note "the code is entered"'],
  'file put': ['file put report.pdf --user ada --conversation chat-1'],
  'file get': ['file get report.pdf ID --to copy.pdf'],
  'artifacts get': ['artifacts get tab-001.webm ID --to video.webm'],
  'page goto': ['page goto https://example.com --user ada --conversation chat-1'],
  'page extract': ['page extract --mode links --session ID'],
  'page screenshot': ['page screenshot page.png --session ID --full-page'],
  'policy apply': ['policy apply policy.json --user ada', 'policy apply --preset ssrf,https-only'],
  'policy test': [
    `policy test browser_navigate '{"url": "http://10.0.0.1/"}' --session ID`,
    'policy test browser_evaluate --file policy.json --untrusted',
  ],
  'credentials set': [
    'credentials set walmart --user ada --username ada@example.com --url walmart.com',
    'credentials set walmart --user ada --username ada@example.com --password-env PASSWORD',
  ],
  'credentials list': ['credentials list --user ada'],
  'profile check': ['profile check work --user ada --url https://mail.example.com --text Inbox'],
  'profile restore': ['profile restore work 3 --user ada'],
  'profile export': ['profile export work state.json --user ada'],
  events: ['events --follow --kind session.ended'],
  'webhook add': [
    'webhook add https://example.com/hooks --kind session.ended session.error',
    'webhook add https://example.com/hooks --user ada',
  ],
  'webhook replay': ['webhook replay ID', 'webhook replay ID 7345.812 7345.815'],
  verify: [
    'verify 0.1.0 --from registry.example.com/omicron-browser --key cosign.pub',
    'verify 0.1.0 --from ./release --key cosign.pub --only omicron-browser manifests',
    'verify 0.1.0 --from ./release --identity-regexp "https://github.com/example/omicron-browser/.*@refs/tags/v.*" --issuer https://token.actions.githubusercontent.com',
  ],
  'audit verify': ['audit verify audit-files', 'audit verify s3://BUCKET/audit/prod/ --head 812:SHA256'],
  cost: ['cost --sessions 100', 'cost --sessions 500 --env dev --fill 90'],
  usage: ['usage --by tag:team --since 2026-11-01T00:00:00Z'],
};

const FOOTER = `
Environment:
  ${ENV.controllerUrl}      controller to call (default: the stack in the folder)
  ${ENV.serviceSecret}  its service secret

Exit codes:
${Object.entries(EXIT)
  .map(([name, code]) => `  ${String(code).padEnd(3)}  ${EXIT_MEANINGS[name as keyof typeof EXIT]}`)
  .join('\n')}

Every command: docs/reference/command.md`;

/** Adds the examples of each command to its help, and the environment and the exit codes to that of the program. */
export function addHelp(program: Command): void {
  program.addHelpText('after', FOOTER);
  for (const [path, command] of listCommands(program)) {
    const lines = EXAMPLES[path];
    if (lines !== undefined)
      command.addHelpText('after', `\nExamples:\n${lines.map(line => `  ${program.name()} ${line}`).join('\n')}`);
  }
}

/** Commands that can be run, by their path such as `session start`, in the order of the help. */
export const listCommands = (command: Command, path: readonly string[] = []): [path: string, command: Command][] =>
  command.commands.flatMap((child): [string, Command][] => {
    const own = [...path, child.name()];
    return child.commands.length > 0 ? listCommands(child, own) : [[own.join(' '), child]];
  });
