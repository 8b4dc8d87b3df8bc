import { expect, it } from 'vitest';
import { SignIns } from '../../console/server/sign-ins.ts';
import { steppedClock } from '../fakes/clock.ts';

const ADA = { id: 'https://login.example ada', name: 'ada', role: 'viewer', userId: 'ada' } as const;
const sentBack = (setCookie: string) => setCookie.split(';')[0];

it('a cookie that no script reads, no other site sends and no other host of the domain sets, over https alone where there is https', () => {
  const signIns = (url: string) => new SignIns(new URL(url), steppedClock());
  const kept = /^__Host-omicron-console-https=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/;
  expect(signIns('https://console.example').open(ADA)).toMatch(kept);
  expect(signIns('http://127.0.0.1:4000').open(ADA)).toMatch(/; HttpOnly; SameSite=Strict; Max-Age=43200$/);
});

it('a sign-in ends after twelve hours, at its sign-out, and when its provider ends it', () => {
  const clock = steppedClock();
  const signIns = new SignIns(new URL('https://console.example'), clock);
  const [signedOut, ended, old] = [ADA, { ...ADA, name: 'bob' }, ADA].map(who => sentBack(signIns.open(who)));
  signIns.close(signedOut);
  signIns.closeAll(({ name }) => name === 'bob');
  expect([signedOut, ended, old].map(cookie => signIns.of(cookie)?.name)).toEqual([undefined, undefined, 'ada']);
  const open = signIns.of(old);
  clock.advance(12 * 3_600_000);
  expect([signIns.of(old), open?.isOpen()]).toEqual([undefined, false]);
});

it('a person keeps their newest fifty sign-ins, and takes none of another person', () => {
  const signIns = new SignIns(new URL('https://console.example'), steppedClock());
  const bob = sentBack(signIns.open({ ...ADA, id: 'https://login.example bob' }));
  const all = Array.from({ length: 60 }, () => sentBack(signIns.open(ADA)));
  expect(all.map(cookie => signIns.of(cookie) !== undefined)).toEqual(all.map((_, i) => i >= 10));
  expect(signIns.of(bob)).toBeDefined();
});
