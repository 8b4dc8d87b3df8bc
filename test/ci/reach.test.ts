import { describe, expect, it } from 'vitest';
import { type ImportRules, isReached, testReach } from './reach.ts';

const { rooms } = (await import('../../.dependency-cruiser.js' as string)) as { rooms: ImportRules };
const reaches = (test: string, ...changed: string[]) => isReached(testReach(test, rooms), changed);

describe('the tests that a change can reach', () => {
  it('are not those of a room that may not import it, nor start it', () => {
    expect(reaches('test/egress/ssrf.test.ts', 'infra/stack.ts', 'console/web/app.tsx')).toBe(false);
    expect(reaches('test/runner/login.test.ts', 'clients/python/pyproject.toml', 'manifests/main.ts')).toBe(false);
  });

  it('are those of rooms that import it, however far away', () => {
    expect(reaches('test/runner/login.test.ts', 'contract/policy/sites.ts')).toBe(true);
    expect(reaches('test/local/stack.test.ts', 'time/backoff.ts')).toBe(true);
  });

  it('are those whose programs start its programs', () => {
    expect(reaches('test/local/stack.test.ts', 'egress/proxy.ts')).toBe(true);
    expect(reaches('test/acceptance/acceptance.test.ts', 'runner/main.ts')).toBe(true);
    expect(reaches('test/cli/command.test.ts', 'console/server/console.ts')).toBe(true);
  });

  it('are those that import a changed file of the tests', () => {
    expect(reaches('test/runner/login.test.ts', 'test/runner/start.ts')).toBe(true);
    expect(reaches('test/egress/ssrf.test.ts', 'test/console/open-console.ts')).toBe(false);
  });

  it('are none for prose, and all for what stands outside the rooms', () => {
    expect(reaches('test/local/stack.test.ts', 'docs/tools.md', 'README.md', 'LICENSE')).toBe(false);
    expect(reaches('test/egress/ssrf.test.ts', 'package-lock.json')).toBe(true);
    expect(reaches('test/egress/ssrf.test.ts', '.ci/run')).toBe(true);
    expect(reaches('test/egress/ssrf.test.ts', 'test/package.json')).toBe(true);
  });
});
