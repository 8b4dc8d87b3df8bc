import * as z from 'zod';
import { epoch } from './lease-key.ts';
import { FILE_FOLDERS } from './names.ts';

/** Files that a platform brought in, and downloads of the browser. */
export const FILE_SOURCES = ['upload', 'download'] as const;
export type FileSource = (typeof FILE_SOURCES)[number];

export const FILE_NAME_BYTES_MAX = 200;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const NOT_IN_NAMES = /[\u0000-\u001f\u007f/\\]/;
const isShort = (name: string): boolean => new TextEncoder().encode(name).length <= FILE_NAME_BYTES_MAX;

/** The name of a file within its session: one component of a path, so that it leads nowhere else. */
export const fileName = z
  .string()
  .min(1)
  .refine(isShort, { message: `must be at most ${FILE_NAME_BYTES_MAX} bytes` })
  .refine(name => !NOT_IN_NAMES.test(name) && name.isWellFormed(), {
    message: 'must not contain slashes, backslashes or control characters',
  })
  .refine(name => !/^[.\s]|[.\s]$/.test(name), { message: 'must not begin or end with a dot or a space' });

/** Files of a session that stay after its end, until the retention of videos: none, all, or those of these names. */
export const KEEP_FILES = ['none', 'all'] as const;
const KEPT_NAMES_MAX = 20;
export const keepFiles = z.union([z.enum(KEEP_FILES), z.array(fileName).min(1).max(KEPT_NAMES_MAX)]);
export type KeepFiles = z.infer<typeof keepFiles>;

/** The name of an artifact that is a file, e.g. `downloads/report.pdf`. */
export const fileArtifactName = z
  .templateLiteral([z.enum(Object.values(FILE_FOLDERS)), '/', z.string()])
  .refine(name => fileName.safeParse(name.slice(name.indexOf('/') + 1)).success, {
    message: 'must be the folder of a source and the name of a file',
  });

export interface FileArtifact {
  readonly source: FileSource;
  readonly name: string;
}

/** The file that the name of an artifact stands for; undefined: it is a video's. */
export function fileOfArtifact(artifactName: string): FileArtifact | undefined {
  if (!fileArtifactName.safeParse(artifactName).success) return undefined;
  const source = FILE_SOURCES.find(each => artifactName.startsWith(`${FILE_FOLDERS[each]}/`));
  return source && { source, name: artifactName.slice(FILE_FOLDERS[source].length + 1) };
}

/** A file of a session as it can be read now. */
export const sessionFile = z
  .object({
    name: fileName.describe('Name of the file within its session and source.'),
    source: z.enum(FILE_SOURCES).describe('`upload`: the platform brought it in. `download`: the browser loaded it.'),
    bytes: z.int().describe('Size in bytes.'),
    mime_type: z.string().describe("Media type by the name's extension: a page chose it."),
  })
  .meta({ id: 'SessionFile' });
export interface SessionFile extends z.infer<typeof sessionFile> {}

/** Answer of a runner's `GET /files`. */
export const runnerFiles = z
  .object({ files: z.array(sessionFile).describe('Files of the lease as they can be read now.') })
  .meta({ id: 'RunnerFiles' });

/** Answer of `GET /internal/browser-sessions/{id}/files`. */
export const fileList = z
  .object({
    files: z
      .array(sessionFile.extend({ epoch }).meta({ id: 'ListedFile' }))
      .describe('Files of the session as they can be read now.'),
  })
  .meta({ id: 'FileList' });
export type ListedFile = z.infer<typeof fileList>['files'][number];

/** Claims of the order that opens a runner's files (EdDSA, the runner's audience of the assignment). */
export const filesClaims = z.object({ order: z.literal('files') });
