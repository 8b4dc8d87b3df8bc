import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

// `npm run console`: writes the pages to console/assets/ and contract/mcp-app.json, which are committed; test/console/assets.test.ts
// builds them again and compares.

const WEB = fileURLToPath(new URL('web/', import.meta.url));

/** Scripts by the name under which they are served: the pages, and the web component for pages of others. */
const ENTRIES = { 'console.js': `${WEB}main.tsx`, 'preview.js': `${WEB}preview-element.ts` } as const;

/** The files of the pages, by name. They are not minified: what is served can be read and reviewed. */
export async function consoleAssets(): Promise<ReadonlyMap<string, string>> {
  const bundles = await Promise.all(Object.entries(ENTRIES).map(([name, entry]) => bundle(name, entry)));
  return new Map(bundles.flat());
}

/** The page in the chat (M3) as one file, a line each: `contract/mcp-app.json`, for the programs that serve it. */
export async function appPage(): Promise<string> {
  const files = new Map(await bundle('app.js', `${WEB}app/main.tsx`));
  const script = (files.get('app.js') ?? '').replaceAll('</script', '<\\/script');
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Browser</title>
<style>
${files.get('console.css')}</style>
<body></body>
<script type="module">
${script}</script>
</html>`;
  return `${JSON.stringify({ html: html.split('\n') }, null, 1)}\n`;
}

async function bundle(name: string, entry: string): Promise<(readonly [string, string])[]> {
  const built = await build({
    root: WEB,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    // as in production whatever NODE_ENV is: vitest sets it, and the bundle is to be the same
    define: { 'process.env.NODE_ENV': '"production"' },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
    build: {
      write: false,
      minify: false,
      modulePreload: false,
      target: 'es2024',
      rollupOptions: {
        input: entry,
        output: { entryFileNames: name, assetFileNames: 'console[extname]' },
      },
    },
  });
  const [result, ...others] = Array.isArray(built) ? built : [built];
  if (!result || !('output' in result) || others.length > 0) throw new Error('Vite wrote no bundle, or several');
  return result.output.map(
    file => [file.fileName, file.type === 'chunk' ? file.code : file.source.toString()] as const,
  );
}

/** Copied as they are. */
export const COPIED = ['console.html', 'icon.svg'] as const;

if (import.meta.main) {
  const assets = fileURLToPath(new URL('assets/', import.meta.url));
  await rm(assets, { recursive: true, force: true });
  await mkdir(assets);
  for (const [name, content] of await consoleAssets()) await writeFile(`${assets}${name}`, content);
  for (const name of COPIED) await copyFile(`${WEB}${name}`, `${assets}${name}`);
  await writeFile(fileURLToPath(new URL('../contract/mcp-app.json', import.meta.url)), await appPage());
}
