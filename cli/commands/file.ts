import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { type Cli, connectController } from '../connect.ts';
import { UsageError } from '../exit.ts';
import { findSession, type SessionName, sessionName, withSessionName } from '../find-session.ts';
import { writeNewFile } from '../write-new-file.ts';

/** `file ...`: B1. */
export function fileCommands(program: Command, cli: Cli): void {
  const file = program.command('file').description("manage a session's files: for its uploads, and downloaded");
  withSessionName(file.command('list').description('list files')).action((id, options) =>
    listFiles(cli, sessionName(id, options)),
  );
  withSessionName(
    file.command('put').description('bring a file to the running browser').argument('<file>', 'file to read'),
  )
    .option('--name <name>', 'name in the session (default: the name of the file)')
    .action((path, id, options) => putFile(cli, path, sessionName(id, options), options));
  withSessionName(
    file.command('get').description('write a file to this machine').argument('<name>', 'name in the session'),
  )
    .option('--to <file>', 'file to write (default: the name, in this folder)')
    .action((name, id, options) => getFile(cli, name, sessionName(id, options), options));
}

async function listFiles(cli: Cli, named: SessionName): Promise<void> {
  const sessions = await connectController(cli);
  const { session_id } = await findSession(sessions, named);
  const files = await sessions.listFiles(session_id);
  cli.out.rows(
    { files },
    ['NAME', 'SOURCE', 'BYTES', 'TYPE', 'EPOCH'],
    files.map(({ name, source, bytes, mime_type, epoch }) => [name, source, bytes, mime_type, epoch]),
  );
}

async function putFile(cli: Cli, path: string, named: SessionName, options: { name?: string }): Promise<void> {
  const content = await contentOf(path);
  const sessions = await connectController(cli);
  const { session_id } = await findSession(sessions, named);
  cli.out.fields(await sessions.putFile(session_id, options.name ?? basename(path), content));
}

async function contentOf(path: string): Promise<Blob> {
  try {
    if (!(await stat(path)).isFile()) throw new Error('it is not a file');
    return await openAsBlob(path);
  } catch (cause) {
    throw new UsageError(`${path} cannot be read: ${cause instanceof Error ? cause.message : cause}.`);
  }
}

async function getFile(cli: Cli, name: string, named: SessionName, options: { to?: string }): Promise<void> {
  const sessions = await connectController(cli);
  const { session_id } = await findSession(sessions, named);
  const bytes = await sessions.readFile(session_id, name);
  // A page chose the name: nothing of this machine is replaced by it.
  const to = options.to ?? basename(name);
  await writeNewFile(to, bytes);
  cli.out.fields({ name, file: to, bytes: bytes.length });
}
