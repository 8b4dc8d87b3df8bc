/** Files that may be brought into one lease; the browser's limits hold for downloads. Bytes, unless named otherwise. */
export interface FileLimits {
  readonly fileBytes: number;
  /** All files together, and how many there may be. */
  readonly filesBytes: number;
  readonly filesMax: number;
}

export const DEFAULT_FILE_LIMITS = { fileMb: 100, filesMb: 200, filesMax: 100 } as const;

const MIB = 1024 * 1024;

export const fileLimits = (settings: { fileMb: number; filesMb: number; filesMax: number }): FileLimits => ({
  fileBytes: settings.fileMb * MIB,
  filesBytes: settings.filesMb * MIB,
  filesMax: settings.filesMax,
});
