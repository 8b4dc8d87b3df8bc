import { runPooled } from './pooled.ts';

await runPooled(() => import('../hibernation/steps.test.ts'));
