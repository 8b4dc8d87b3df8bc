import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { SignJWT } from 'jose';
import { CONSOLE_ROUTES } from '../../contract/console.ts';
import { ENV } from '../../contract/names.ts';
import { freePort } from '../../local/free-port.ts';
import { eventually } from '../eventually.ts';
import { ROOT, shell } from './machine.ts';

const ISSUER = 'https://login.example.com';

/** The console as a cluster runs it, in a process of its own, beside a controller. */
export async function startConsoleProcess({ url, serviceSecret }: { url: string; serviceSecret: string }) {
  const [port, adminPort] = [await freePort(), await freePort()];
  const origin = `http://127.0.0.1:${port}`;
  const platformSecret = randomBytes(32).toString('hex');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'console/main.ts'], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...shell(),
      [ENV.consoleUrl]: origin,
      [ENV.consoleHost]: '127.0.0.1',
      [ENV.consolePort]: String(port),
      [ENV.consoleAdminHost]: '127.0.0.1',
      [ENV.consoleAdminPort]: String(adminPort),
      [ENV.controllerUrl]: url,
      [ENV.serviceSecret]: serviceSecret,
      [ENV.consolePlatformIssuer]: ISSUER,
      [ENV.consolePlatformSecret]: platformSecret,
    },
  });
  const metricsUrl = `http://127.0.0.1:${adminPort}/metrics`;
  await eventually('the console', () =>
    fetch(metricsUrl).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    metricsUrl,
    /** A person signs in and reads the list of sessions; one who has not signed in is refused. */
    async visit(): Promise<void> {
      const token = await new SignJWT({ sub: 'ada', roles: ['omicron-operator'] })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuer(ISSUER)
        .setAudience('authenticated')
        .setExpirationTime('1m')
        .sign(Buffer.from(platformSecret));
      const signedIn = await fetch(`${origin}${CONSOLE_ROUTES.signIn}`, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/json' },
        body: JSON.stringify({ access_token: token }),
      });
      const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
      const statuses = await Promise.all(
        [{ cookie }, {}].map(async headers => (await fetch(`${origin}/api/browser-sessions`, { headers })).status),
      );
      if (statuses.join() !== '200,401') throw new Error(`the console answered ${statuses.join()}`);
    },
    async stop(): Promise<void> {
      child.kill();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
