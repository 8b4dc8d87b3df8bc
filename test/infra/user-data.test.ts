import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SECCOMP_PROFILE } from '../../contract/names.ts';
import { seccompProfile, userData } from '../../infra/user-data.ts';
import { ARM64_SYSTEM_CALLS, INSTEAD_ON_ARM64, NOT_OF_ARM64 } from './arm64-system-calls.ts';
import { boot } from './boot.ts';

const browser = boot(userData({ podPidsMax: 1024, chromium: 'amd64' }));

describe('the boot script of a browser node', () => {
  let node: string;
  beforeEach(() => {
    node = mkdtempSync(join(tmpdir(), 'node-'));
    mkdirSync(join(node, 'bin'));
    mkdirSync(join(node, 'etc/sysctl.d'), { recursive: true });
    writeFileSync(join(node, 'bin/sysctl'), `#!/bin/sh\necho "$@" > ${node}/sysctl-called\n`);
    chmodSync(join(node, 'bin/sysctl'), 0o755);
  });
  afterEach(() => rmSync(node, { recursive: true }));

  /** Runs it with the node's folders under a temporary one, and without touching this machine's kernel. */
  const run = (): void => {
    const script = (browser.script ?? '')
      .replaceAll('/var/lib/kubelet', `${node}/kubelet`)
      .replaceAll('/etc/', `${node}/etc/`);
    execFileSync('bash', ['-c', script], { env: { PATH: `${node}/bin:${process.env.PATH}` } });
  };

  test('lays the profile down where the kubelet looks for the name that pods give, readable', () => {
    run();
    const path = join(node, 'kubelet/seccomp', SECCOMP_PROFILE);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(JSON.parse(seccompProfile('amd64')));
    expect(statSync(path).mode & 0o777).toBe(0o644);
  });

  test('allows user namespaces, now and after a reboot', () => {
    run();
    const settings = readFileSync(join(node, 'etc/sysctl.d/90-chromium.conf'), 'utf8');
    // five for each of 50 renderers of each of the 120 browsers that fit a node
    expect(Number(/user\.max_user_namespaces = (\d+)/.exec(settings)?.[1])).toBeGreaterThanOrEqual(120 * 50 * 5);
    expect(readFileSync(join(node, 'sysctl-called'), 'utf8')).toContain('90-chromium.conf');
  });

  test('does no harm when it runs a second time', () => {
    run();
    expect(run).not.toThrow();
  });
});

test('the kubelet limits the processes of a pod, gives unnamed pods a seccomp profile and lets runners finish', () => {
  expect(browser.types).toEqual(['application/node.eks.aws', 'text/x-shellscript']);
  expect(browser.kubelet).toMatchObject({ podPidsLimit: 1024, seccompDefault: true, shutdownGracePeriod: '100s' });
});

test('the kubelet reserves memory for the pods that its node may run, and what EKS chooses where that is not said', () => {
  const { kubelet } = boot(userData({ podPidsMax: 1024, podsMax: 125, chromium: 'amd64' }));
  expect(kubelet).toMatchObject({ maxPods: 125, kubeReserved: { memory: '1630Mi' } });
  expect(browser.kubelet).not.toHaveProperty('kubeReserved');
});

test('a node without browsers gets kubelet settings only', () => {
  expect(boot(userData({ podPidsMax: 512, chromium: null })).types).toEqual(['application/node.eks.aws']);
});

test('user data fits into what EC2 takes, with room for the part that EKS adds', () => {
  const bytes = Buffer.from(userData({ podPidsMax: 1024, chromium: 'amd64' }), 'base64').length;
  // EKS merges cluster name, endpoint and certificate authority: some 2 KiB.
  expect(bytes).toBeLessThan(16_384 - 2_500);
});

describe('the profile', () => {
  interface Rule {
    names: string[];
    action: string;
    args?: unknown[];
    errnoRet?: number;
  }
  const profile = JSON.parse(seccompProfile('amd64')) as { defaultAction: string; syscalls: Rule[] };
  const allowed = new Set(
    profile.syscalls.filter(rule => rule.action === 'SCMP_ACT_ALLOW' && !rule.args).flatMap(rule => rule.names),
  );

  test('allows each architecture its own system calls, by the same rules', () => {
    const arm64 = JSON.parse(seccompProfile('arm64'));
    expect(arm64).toEqual({ ...profile, architectures: ['SCMP_ARCH_AARCH64'] });
    expect(JSON.parse(seccompProfile('amd64')).architectures).toEqual([
      'SCMP_ARCH_X86_64',
      'SCMP_ARCH_X86',
      'SCMP_ARCH_X32',
    ]);
    expect(boot(userData({ podPidsMax: 1024, chromium: 'arm64' })).script).toContain('"SCMP_ARCH_AARCH64"');
  });

  test('names no system call that arm64 lacks without the one that programs use there', () => {
    const named = profile.syscalls.flatMap(({ names }) => names);
    const missing = named.filter(name => !ARM64_SYSTEM_CALLS.has(name));
    expect(missing.length).toBeGreaterThan(90);
    for (const name of missing.filter(each => !NOT_OF_ARM64.has(each))) {
      const instead = INSTEAD_ON_ARM64[name];
      expect(instead, `${name} is not on arm64: say which call is used there`).toBeDefined();
      expect(ARM64_SYSTEM_CALLS.has(String(instead)), `${name}: ${instead} is not on arm64 either`).toBe(true);
      expect(allowed.has(String(instead)), `${name}: the profile does not allow ${instead}`).toBe(true);
    }
  });

  test('refuses what it does not name', () => {
    expect(profile.defaultAction).toBe('SCMP_ACT_ERRNO');
  });

  test('allows what Chromium’s sandbox is made of', () => {
    for (const call of ['clone', 'unshare', 'setns', 'chroot']) expect([...allowed]).toContain(call);
  });

  test('answers clone3 with ENOSYS, so that glibc falls back to clone', () => {
    expect(profile.syscalls.find(rule => rule.names.includes('clone3'))).toMatchObject({
      action: 'SCMP_ACT_ERRNO',
      errnoRet: 38,
    });
  });

  test.each([
    'mount',
    'pivot_root',
    'bpf',
    'keyctl',
    'add_key',
    'kexec_load',
    'init_module',
    'open_by_handle_at',
    'userfaultfd',
    'perf_event_open',
    'reboot',
    'io_uring_setup',
  ])('allows no process to call %s', call => {
    expect(allowed.has(call)).toBe(false);
  });
});
