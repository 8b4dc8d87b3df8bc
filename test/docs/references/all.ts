import { commandPage } from './command.ts';
import { errorsPage } from './errors.ts';
import { eventsPage } from './events.ts';
import { metricsPage } from './metrics.ts';
import { settingsPage } from './settings.ts';
import { toolsPage } from './tools.ts';

/** Every page of docs/reference/ that is written from the code, by its path. */
export const references = async (): Promise<[path: string, text: string][]> => [
  ['docs/reference/command.md', commandPage()],
  ['docs/reference/errors.md', errorsPage()],
  ['docs/reference/events.md', eventsPage()],
  ['docs/reference/metrics.md', metricsPage()],
  ['docs/reference/settings.md', await settingsPage()],
  ['docs/reference/tools.md', toolsPage()],
];
