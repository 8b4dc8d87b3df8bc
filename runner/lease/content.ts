import type { Captures } from '../capture/captures.ts';
import { fileLimits } from '../files/limits.ts';
import { type LeaseFiles, type SessionFiles, sessionFiles } from '../files/session-files.ts';
import { type LiveView, liveView } from '../live/live-view.ts';
import { type KeptPages, keptPages } from '../pages/kept-pages.ts';
import { redactJson } from '../reporting/redact.ts';
import { typedPasswords } from '../secrecy/typed-passwords.ts';
import type { LeaseOptions } from './options.ts';
import type { LeaseReports } from './reports.ts';
import type { LeaseSecrets } from './secrets.ts';

/** The parts of a lease's browser that people and platforms see, without secrets. */
export interface LeaseContent {
  readonly live: LiveView;
  readonly files: SessionFiles;
  /** The same files, as the agent's tools may read and upload them. */
  readonly leaseFiles: LeaseFiles;
  readonly pages: KeptPages;
}

/** `writeOrder` puts what the uploader needs on disk. */
export function leaseContent(
  options: LeaseOptions,
  { events, freezer }: LeaseReports,
  secrets: LeaseSecrets,
  { captures, writeOrder }: { readonly captures: Captures; readonly writeOrder: () => Promise<void> },
): LeaseContent {
  const { work, settings, assignment, clock, log } = options;
  const { context } = options.browser;
  const { redact, add } = options.redactor;
  const { documents, fields, conceal, pictures } = secrets;
  const { outputDir } = settings;
  const live = liveView({
    context,
    captures,
    freezer,
    conceal,
    clock,
    beforeAgent: typedPasswords({ context, fields, documents, pictures, add }),
    onTaken: ({ name, identity }, from) =>
      events.add('control.taken', {
        viewer: redactJson(name, redact),
        identity: redactJson(identity, redact),
        ...(from && { from: redactJson(from.name, redact), reason: from.reason }),
      }),
    onControlEnded: ({ name, identity }, why, seconds) =>
      events.add('control.given_back', {
        viewer: redactJson(name, redact),
        identity: redactJson(identity, redact),
        why,
        seconds,
      }),
  });
  const files = sessionFiles({
    outputDir,
    limits: fileLimits(settings),
    beforeFirst: writeOrder,
    conceal,
    onAdded: ({ name, source, bytes }) => events.add('file.added', { name: redact(name), source, bytes }),
  });
  const pages = keptPages({
    keep: assignment.options.keep_pages ?? settings.keepPages,
    outputDir,
    clock,
    pictures,
    documents,
    conceal,
    beforeFirst: writeOrder,
    answeringTab: work.answeringTab,
    use: freezer.use,
    onFailed: error => log.warn({ err: error }, 'page not kept'),
  });
  const leaseFiles: LeaseFiles = {
    ...files,
    mayReadBytes: ({ source, isTainted }) => !isTainted && (source === 'upload' || !documents.isGuarding()),
    uploadsDir: work.uploadsDir,
  };
  return { live, files, leaseFiles, pages };
}
