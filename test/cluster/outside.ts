import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { inNetworkOf, kubelet } from './node.ts';

const LINK = { node: 'omi-out-n', outside: 'omi-out-o' } as const;
/** The link's own addresses; RFC 2544's range for tests of devices. */
const ENDS = { node: '198.18.255.1', outside: '198.18.255.2', node6: 'fd00:198:18::1', outside6: 'fd00:198:18::2' };

/** Services outside a deployment on AWS, by what a pod would want of them. */
export const OUTSIDE = {
  /** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-metadata.html */
  imds: '169.254.169.254',
  imds6: 'fd00:ec2::254',
  /** Credentials of ECS tasks and of EKS pod identities. */
  ecs: '169.254.170.2',
  podIdentity: '169.254.170.23',
  podIdentity6: 'fd00:ec2::23',
  /** A neighbour in the VPC: an unused address of a private range. */
  neighbour: '10.99.0.7',
  /** A host of the internet: documentation's range (RFC 5737), which no policy here knows. */
  public: '203.0.113.7',
} as const;
export const OUTSIDE_PORT = 80;

/**
 * Metadata services, a neighbour and a public host, all in a network namespace of this test's own behind the node:
 * packets of pods to them are routed as those to the world are, and never leave this machine. Ends with `await
 * using`.
 */
export async function outside(): Promise<AsyncDisposable> {
  const { pid } = await kubelet();
  const onNode = (...args: string[]) => inNetworkOf(pid, 'ip', ...args);
  // Takes its peer and the node's routes along.
  const away = () => onNode('link', 'delete', LINK.node).catch(() => {});
  await away();
  // A namespace without a name: `ip netns add` binds /run/netns onto itself, and the runtime can then remove no
  // pod's.
  const listen = `require('net').createServer(s => s.end()).listen(${OUTSIDE_PORT}, '::', () => console.log('listens'))`;
  const listener = spawn('unshare', ['--net', process.execPath, '-e', listen], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(listener.stdout, 'data');
  const listenerPid = listener.pid ?? 0;
  const inside = (...args: string[]) => inNetworkOf(listenerPid, 'ip', ...args);
  await onNode('link', 'add', LINK.node, 'type', 'veth', 'peer', 'name', LINK.outside);
  await onNode('link', 'set', LINK.outside, 'netns', String(listenerPid));
  await onNode('address', 'add', `${ENDS.node}/30`, 'dev', LINK.node);
  await onNode('-6', 'address', 'add', `${ENDS.node6}/64`, 'dev', LINK.node, 'nodad');
  await onNode('link', 'set', LINK.node, 'up');
  await inside('address', 'add', `${ENDS.outside}/30`, 'dev', LINK.outside);
  await inside('-6', 'address', 'add', `${ENDS.outside6}/64`, 'dev', LINK.outside, 'nodad');
  await inside('link', 'set', 'lo', 'up');
  await inside('link', 'set', LINK.outside, 'up');
  await inside('route', 'add', 'default', 'via', ENDS.node);
  await inside('-6', 'route', 'add', 'default', 'via', ENDS.node6);
  for (const address of Object.values(OUTSIDE)) {
    const six = address.includes(':');
    await inside(six ? '-6' : '-4', 'address', 'add', `${address}/${six ? 128 : 32}`, 'dev', 'lo');
    await onNode(six ? '-6' : '-4', 'route', 'add', address, 'via', six ? ENDS.outside6 : ENDS.outside);
  }
  return {
    async [Symbol.asyncDispose]() {
      listener.kill();
      await away();
    },
  };
}
