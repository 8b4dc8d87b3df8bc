import { settingsPage } from './settings.ts';

/** Every page of docs/reference/ that is written from the code, by its path. */
export const references = async (): Promise<[path: string, text: string][]> => [
  ['docs/reference/settings.md', await settingsPage()],
];
