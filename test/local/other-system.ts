import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

// Loaded before a program (`node --import`): hides what only Linux has, so that the program finds itself on another system. Programs that
// it starts by `process.execPath` load it too, since that is the script in NODE_OF_OTHER_SYSTEM.

Object.defineProperty(process, 'platform', { value: 'darwin' });
process.execPath = process.env.NODE_OF_OTHER_SYSTEM ?? process.execPath;

const failure = (code: string, what: string) => Object.assign(new Error(`${code}: ${what} is hidden`), { code });

type OfPath = (path: unknown, ...others: unknown[]) => unknown;

/** The same function of a path, for which there is no /proc. */
const withoutProc =
  (real: OfPath): OfPath =>
  (path, ...others) => {
    if (String(path).startsWith('/proc')) throw failure('ENOENT', String(path));
    return real(path, ...others);
  };

Object.assign(fs, {
  existsSync: (path: fs.PathLike) =>
    !String(path).startsWith('/proc') && fs.statSync(path, { throwIfNoEntry: false }) !== undefined,
  ...Object.fromEntries(
    // a call's types are checked where it is written
    (['openSync', 'readFileSync', 'readdirSync', 'readlinkSync'] as const).map(name => [
      name,
      withoutProc(fs[name] as OfPath),
    ]),
  ),
});
syncBuiltinESMExports();

/** A system without process groups. */
const kill = process.kill.bind(process);
process.kill = (pid, signal) => {
  if (pid < 0) throw failure('ESRCH', `the process group ${-pid}`);
  return kill(pid, signal);
};
