import type { RunnerSettings } from '../settings.ts';

/** The settings of a runner for its leases, passed whole from its environment. A lease may ask for another toolset, snapshot or keeping of pages. */
export type LeaseSettings = Pick<
  RunnerSettings,
  | 'toolset'
  | 'snapshot'
  | 'keepPages'
  | 'tokensMax'
  | 'imageText'
  | 'checkpointSeconds'
  | 'freezeSeconds'
  | 'insecureLoginOrigins'
  | 'outputDir'
  | 'ffmpegPath'
  | 'fileMb'
  | 'filesMb'
  | 'filesMax'
>;
