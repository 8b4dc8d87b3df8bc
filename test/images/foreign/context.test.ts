import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ARCHITECTURES } from '../../../contract/names.ts';
import { buildContext, type Context, HOST_ARCHITECTURE } from '../../../images/context.ts';

/** `e_machine` of an ELF file: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html and its processor supplements */
const MACHINES = new Map([
  [62, 'amd64'],
  [183, 'arm64'],
]);
const ELF_BYTES = 20;

/** The processor of a file, undefined where it is no program or library of one. */
async function machineOf(path: string): Promise<string | undefined> {
  const file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(ELF_BYTES), 0, ELF_BYTES, 0).finally(() => file.close());
  if (bytesRead < ELF_BYTES || buffer.readUInt32BE(0) !== 0x7f454c46) return undefined;
  return MACHINES.get(buffer.readUInt16LE(18)) ?? 'another';
}

const foreign = ARCHITECTURES.find(each => each !== HOST_ARCHITECTURE) ?? 'arm64';
let root: string;
let built: Context;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'images-'));
  built = await buildContext('runner', root, {}, foreign);
}, 300_000);
afterAll(() => rm(root, { recursive: true }));

it("a runner's context for another architecture has its Node and its npm packages alone", async () => {
  expect(await machineOf(join(built.path, 'bin/node'))).toBe(foreign);
  const files = (await readdir(built.path, { recursive: true, withFileTypes: true }))
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name));
  const machines = await Promise.all(files.map(machineOf));
  expect(machines.filter(machine => machine === foreign).length).toBeGreaterThan(0);
  expect(files.filter((_, at) => machines[at] === HOST_ARCHITECTURE)).toEqual([]);
});

it('its tag is another one than that of this machine, whose context lies beside it', async () => {
  const own = await buildContext('egress', root, {});
  const other = await buildContext('egress', root, {}, foreign);
  expect(other.tag).not.toBe(own.tag);
  expect(other.path).not.toBe(own.path);
  expect(await machineOf(join(own.path, 'bin/node'))).toBe(HOST_ARCHITECTURE);
}, 300_000);
