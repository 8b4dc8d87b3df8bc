import { expect, it } from 'vitest';
import type { EgressRefusal } from '../../../runner/browser/egress-forwarder.ts';
import { refusedOnTheWayOut } from '../../../runner/browser/refused-on-the-way-out.ts';

const refusal = (code: string, authority: string): EgressRefusal => ({ code, authority, status: 403, atMs: 1 });
const told = (...refusals: EgressRefusal[]) => refusedOnTheWayOut(refusals, 0).join('\n');

it.each([
  ['port_refused', 'localhost:3000', '127.0.0.1/32'],
  ['internal_name', 'localhost:3000', '127.0.0.1/32'],
  ['internal_address', '127.0.0.2:3000', '127.0.0.2/32'],
  ['internal_address', '[::1]:3000', '::1/128'],
])('names both settings for a site of the machine itself, whichever check refused it: %s %s', (code, at, range) => {
  expect(told(refusal(code, at))).toContain(`OMICRON_EGRESS_ALLOWED_CIDRS=${range}`);
  expect(told(refusal(code, at))).toContain('{"version":1,"sites":{"ports":[80,443,3000]}}');
});

it('names no setting for sites of others', () => {
  expect(told(refusal('port_refused', 'shop.example:8443'), refusal('internal_address', '10.0.0.1:80'))).not.toContain(
    'OMICRON_EGRESS_ALLOWED_CIDRS',
  );
});

it('distinguishes a site that failed from one that was refused', () => {
  const text = told(refusal('connect_failed', 'shop.example:443'), refusal('site_denied', 'bad.example:443'));
  expect(text).toMatch(/Refused on the way out:\nbad\.example.*\nNot reached:\nshop\.example:443: The site refused/);
});
