// Handlers first, the rest then: a SIGTERM in the second of loading would end a process that goes on with recordings
// of one before it. Below tini (the pod's template); as process 1 it would miss one that came before them.
const ending = new AbortController();
if (process.argv[2] !== '--once')
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => ending.abort());

const { run } = await import('./run.ts');
process.exit(await run(process.argv.slice(2), ending.signal));
