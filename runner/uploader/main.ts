// Handlers first, the rest then: as process 1 of its container it would never hear of a SIGTERM that came before them, and a
// second of loading is time enough for one.
const ending = new AbortController();
if (process.argv[2] !== '--once')
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => ending.abort());

const { run } = await import('./run.ts');
process.exit(await run(process.argv.slice(2), ending.signal));
