import { fileOfArtifact, type ListedFile, type SessionFile } from '../../contract/files.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { Artifact } from '../../contract/session.ts';
import { mimeTypeOf } from '../../http/mime-type.ts';
import type { ArtifactStore } from '../ports/artifacts.ts';
import type { FileAnswer, RunnerFiles } from '../ports/runner-files.ts';
import type { Directory } from '../store/directory.ts';
import { filesToken, type Keys } from './assignment-tokens.ts';
import { type LiveRunner, liveRunner } from './live-runner.ts';
import { storedAnswer } from './stored-answer.ts';

export interface FileParts {
  directory: Directory;
  keys: Keys;
  runnerFiles: RunnerFiles;
  artifacts: ArtifactStore;
}

type Put = Parameters<RunnerFiles['put']>[2];

/** Brings a file to the running browser. Throws `lease_ended` where none runs. */
export async function putFile(
  parts: FileParts,
  sessionId: string,
  userId: string | null,
  file: Put,
): Promise<SessionFile> {
  const runner = await liveRunner(parts.directory, sessionId, userId);
  return parts.runnerFiles.put(runner.endpoint, tokenOf(parts, runner), file);
}

/** The files of the running browser, then those that were stored of leases before; of equal names the newest. */
export async function listSessionFiles(
  parts: FileParts,
  sessionId: string,
  userId: string | null,
): Promise<ListedFile[]> {
  const stored = await storedFiles(parts, sessionId, userId);
  const live = await withRunner(parts, sessionId, userId, async (runner, token) => {
    const files = await parts.runnerFiles.list(runner.endpoint, token);
    return files.map(file => ({ ...file, epoch: runner.session.epoch }));
  });
  const listed = [...(live ?? []), ...stored.map(listedOf)];
  return [...new Map(listed.toReversed().map(file => [file.name, file])).values()].toReversed();
}

/** Null: the session has no such file, or the controller may not read its store. */
export async function readSessionFile(
  parts: FileParts,
  sessionId: string,
  userId: string | null,
  { name, range }: { name: string; range: string | undefined },
): Promise<FileAnswer | null> {
  const stored = await storedFiles(parts, sessionId, userId);
  const live = await withRunner(parts, sessionId, userId, (runner, token) =>
    parts.runnerFiles.read(runner.endpoint, token, name, range),
  );
  if (live !== undefined) return live;
  const uri = stored.find(file => file.name === name)?.uri;
  const content = uri ? await parts.artifacts.read(uri) : null;
  return content && storedAnswer(content, { mimeType: mimeTypeOf(name), name }, range);
}

interface StoredFile extends Artifact {
  readonly source: SessionFile['source'];
}

/** Newest first. Throws `session_not_found`. */
async function storedFiles({ directory }: FileParts, sessionId: string, userId: string | null): Promise<StoredFile[]> {
  const session = await directory.session(sessionId, userId);
  if (session === null)
    throw new OmicronError('session_not_found', 'No session has this id; list sessions to find the right one.');
  return (await directory.artifacts(session.id))
    .filter(({ state }) => state === 'stored')
    .flatMap(artifact => {
      const file = fileOfArtifact(artifact.name);
      return file === undefined ? [] : [{ ...artifact, ...file }];
    })
    .sort((a, b) => b.epoch - a.epoch);
}

const listedOf = ({ name, source, bytes, epoch }: StoredFile): ListedFile => ({
  name,
  source,
  bytes: bytes ?? 0,
  mime_type: mimeTypeOf(name),
  epoch,
});

/** Undefined: no browser runs, or it has no such file. */
async function withRunner<T>(
  parts: FileParts,
  sessionId: string,
  userId: string | null,
  ask: (runner: LiveRunner, token: string) => Promise<T>,
): Promise<T | undefined> {
  try {
    const runner = await liveRunner(parts.directory, sessionId, userId);
    return await ask(runner, tokenOf(parts, runner));
  } catch (error) {
    if (error instanceof OmicronError && (error.code === 'lease_ended' || error.code === 'file_not_found'))
      return undefined;
    throw error;
  }
}

const tokenOf = ({ keys }: FileParts, { runnerId, bootId }: LiveRunner): string => filesToken(keys, runnerId, bootId);
