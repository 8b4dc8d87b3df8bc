import { prove } from './prove.ts';

process.exitCode = await prove(process.argv.slice(2));
