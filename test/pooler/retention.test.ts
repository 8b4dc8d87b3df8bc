import { runPooled } from './pooled.ts';

await runPooled(() => import('../controller/retention.test.ts'));
