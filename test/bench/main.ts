// `npm run bench [-- lease|egress|cluster|pictures|live|actions|navigation|profiles|scale|stack|trust] [options]`: each writes its sections of `.omicron/bench.json`.
const BENCHES = [
  'lease',
  'egress',
  'cluster',
  'pictures',
  'live',
  'actions',
  'navigation',
  'profiles',
  'scale',
  'stack',
  'trust',
];

const given = process.argv[2];
const named = given !== undefined && !given.startsWith('-');
if (named && !BENCHES.includes(given)) {
  process.stderr.write(`Unknown bench "${given}": use ${BENCHES.join(', ')}.\n`);
  process.exit(2);
}
if (named) process.argv.splice(2, 1);
await import(`./${named ? given : 'lease'}.ts`);
