import { type Document, document } from './document.ts';
import { keepProfiles } from './profiles.ts';
import { listRecordings, type Recordings } from './recordings.ts';

/** The controller's role: check that a recording arrived or expired (O21), and keep profiles. It cannot read a recording. */
export const controllerPolicy = (recordings: Recordings): Document =>
  document(listRecordings(recordings), ...keepProfiles(recordings));
