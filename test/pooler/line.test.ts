import { runPooled } from './pooled.ts';

await runPooled(() => import('../controller/line.test.ts'));
