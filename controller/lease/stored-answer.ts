import { Readable } from 'node:stream';
import { contentAnswer } from '../../http/content-answer.ts';
import type { ArtifactContent } from '../ports/artifacts.ts';
import type { FileAnswer } from '../ports/runner-files.ts';

/** The answer with a stored content, or with the part of it that the header `range` asks for. */
export function storedAnswer(
  content: ArtifactContent,
  about: { mimeType: string; name?: string },
  range: string | undefined,
): FileAnswer {
  const answer = contentAnswer({ ...about, bytes: content.bytes }, range);
  const stream = answer.range === undefined ? Readable.from([]) : content.stream(answer.range.start, answer.range.end);
  return { status: answer.status, headers: answer.headers, stream };
}
