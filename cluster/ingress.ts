import { type ChildProcess, spawn } from 'node:child_process';
import http from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { ENV, NAMESPACES, PORTS, SERVICES } from '../contract/names.ts';
import { SECRETS } from '../manifests/secrets.ts';
import { INGRESS } from './fixtures/objects.ts';
import { PROXY_PORT } from './fixtures/ports.ts';
import { clusterEnvironment, kubectl } from './kubectl.ts';

/** How this process calls the controller as the platform's API does: from inside the cluster. */
export interface Ingress {
  /** The options of `BrowserSessions`. */
  readonly url: string;
  readonly serviceSecret: string;
  close(): void;
}

/**
 * Sends this process's HTTP requests, except to loopback, through a proxy pod in the API's namespace: names are
 * resolved in the cluster, and its network policies apply. Directly to the pod where this machine reaches it, else by
 * port-forward.
 */
export async function openIngress(): Promise<Ingress> {
  const { address, close } = await proxyAddress();
  http.setGlobalProxyFromEnv({ HTTP_PROXY: `http://${address}`, NO_PROXY: '127.0.0.1,localhost' });
  const { namespace, name } = SECRETS.api;
  const secret = ['-n', namespace, 'get', 'secret', name, '-o', `jsonpath={.data.${ENV.serviceSecret}}`];
  return {
    url: `http://${SERVICES.controller}.${NAMESPACES.system}.svc.cluster.local:${PORTS.controller}`,
    serviceSecret: Buffer.from(await kubectl(secret), 'base64').toString(),
    close,
  };
}

async function proxyAddress(): Promise<{ address: string; close: () => void }> {
  const pod = ['-n', NAMESPACES.api, 'get', 'pods', '-l', `omicron.dev/fixture=${INGRESS}`];
  const ip = (await kubectl([...pod, '-o', 'jsonpath={.items[0].status.podIP}'])).trim();
  if (await canReach(ip, PROXY_PORT)) return { address: `${ip}:${PROXY_PORT}`, close: () => undefined };
  const child = spawn('kubectl', ['-n', NAMESPACES.api, 'port-forward', `deployment/${INGRESS}`, `:${PROXY_PORT}`], {
    env: clusterEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { address: `127.0.0.1:${await forwardedPort(child)}`, close: () => child.kill() };
}

async function canReach(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  const open = new Promise<boolean>(resolve => {
    socket.on('connect', () => resolve(true));
    socket.on('error', () => resolve(false));
  });
  const reached = await Promise.race([open, delay(1_000, false)]);
  socket.destroy();
  return reached;
}

async function forwardedPort(child: ChildProcess): Promise<number> {
  if (child.stdout)
    for await (const line of createInterface({ input: child.stdout })) {
      const port = /^Forwarding from 127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      if (port !== undefined) return Number(port);
    }
  throw new Error('kubectl port-forward ended without a port');
}
