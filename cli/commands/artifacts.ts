import { basename } from 'node:path';
import type { Command } from 'commander';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { Artifact } from '../../contract/session.ts';
import { parseCount } from '../arguments.ts';
import { type Cli, connectController } from '../connect.ts';
import { findSession, type SessionName, sessionName, withSessionName } from '../find-session.ts';
import { writeNewFile } from '../write-new-file.ts';

/** `artifacts ...`: what is kept of a session. */
export function artifactCommands(program: Command, cli: Cli): void {
  const artifacts = program.command('artifacts').description("read a session's videos, files and kept pages");
  withSessionName(artifacts.command('list').description('list artifacts, oldest first')).action((id, options) =>
    listArtifacts(cli, sessionName(id, options)),
  );
  withSessionName(
    artifacts
      .command('get')
      .description('write an artifact to this machine')
      .argument('<artifact>', 'name, of which the newest is taken, or id'),
  )
    .option('--to <file>', 'file to write (default: the name, in this folder)')
    .action((artifact, id, options) => getArtifact(cli, artifact, sessionName(id, options), options));
  withSessionName(
    artifacts
      .command('url')
      .description('print a URL that reads the artifact without a token until it expires (S3 only)')
      .argument('<artifact>', 'name, of which the newest is taken, or id'),
  )
    .option('--ttl <seconds>', 'how long (default 60, at most 300)', parseCount)
    .action((artifact, id, options) => artifactUrl(cli, artifact, sessionName(id, options), options));
}

async function listArtifacts(cli: Cli, named: SessionName): Promise<void> {
  const sessions = await connectController(cli);
  const { session_id } = await findSession(sessions, named);
  const artifacts = await sessions.listArtifacts(session_id);
  cli.out.rows(
    { artifacts },
    ['ID', 'KIND', 'NAME', 'EPOCH', 'STATE', 'BYTES', 'REASON'],
    artifacts.map(({ id, kind, name, epoch, state, bytes, reason }) => [id, kind, name, epoch, state, bytes, reason]),
  );
}

async function getArtifact(cli: Cli, wanted: string, named: SessionName, options: { to?: string }): Promise<void> {
  const sessions = await connectController(cli);
  const artifact = await findArtifact(sessions, wanted, named);
  const bytes = await sessions.readArtifact(artifact.session_id, artifact.id);
  const to = options.to ?? basename(artifact.name);
  await writeNewFile(to, bytes);
  cli.out.fields({ name: artifact.name, file: to, bytes: bytes.length });
}

async function artifactUrl(cli: Cli, wanted: string, named: SessionName, options: { ttl?: number }): Promise<void> {
  const sessions = await connectController(cli);
  const { session_id, id } = await findArtifact(sessions, wanted, named);
  cli.out.fields(await sessions.createArtifactUrl(session_id, id, { ttlSeconds: options.ttl }));
}

async function findArtifact(sessions: BrowserSessions, wanted: string, named: SessionName): Promise<Artifact> {
  const { session_id } = await findSession(sessions, named);
  const artifacts = await sessions.listArtifacts(session_id);
  const artifact = artifacts.findLast(
    ({ id, name, state }) => state === 'stored' && (id === wanted || name === wanted),
  );
  if (artifact === undefined)
    throw new OmicronError('artifact_not_found', `The session has no stored artifact "${wanted}".`);
  return artifact;
}
