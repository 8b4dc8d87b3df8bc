import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalHost, hostPattern } from '../../../contract/policy/hosts.ts';
import { compileSites, type PolicyLayer, siteRules } from '../../../contract/policy/sites.ts';

const pattern = (text: string) => hostPattern.safeParse(text);

describe('host patterns', () => {
  it.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.com.', 'example.com'],
    ['*.Example.com', '*.example.com'],
    ['münchen.example', 'xn--mnchen-3ya.example'],
    ['*.例え.jp', '*.xn--r8jz45g.jp'],
    ['a.b.c.example.co.uk', 'a.b.c.example.co.uk'],
    ['*.github.io', '*.github.io'],
    ['LOCALHOST', 'localhost'],
    ['93.184.216.34', '93.184.216.34'],
    ['2606:4700::1111', '2606:4700::1111'],
    ['2606:4700:0:0::1111', '2606:4700::1111'],
    ['my_host.example.com', 'my_host.example.com'],
  ])('reads %s as %s', (text, canonical) => {
    expect(pattern(text).data).toBe(canonical);
  });

  it.each([
    ...['*google.com', 'goo*gle.com', '*', '*.*', '*.*.example.com', 'www.*.com', 'example.*', '**.example.com', '*.'],
    ...['*.com', 'com', '*.co.uk', 'co.uk', '*.xn--p1ai', '*.test', '*.localhost', '*.*.co.uk'],
    ...['https://example.com', 'example.com/', 'example.com:443', 'user@example.com', 'example.com?x', 'example.com#x'],
    ...[
      '',
      ' example.com',
      'exa mple.com',
      'example..com',
      '-a.com',
      'a-.com',
      'a\\b.com',
      'a%2eb.com',
      '[::1]',
      'fe80::1%eth0',
      '::%0',
      'a'.repeat(64).concat('.com'),
    ],
    ...['127.1', '0x7f000001', '2130706433', '*.1.2.3.4', '1.2.3'],
  ])('refuses %s', text => {
    expect(pattern(text).success).toBe(false);
  });

  it('say what to write instead', () => {
    expect(pattern('*google.com').error?.issues[0]?.message).toContain('write *.example.com');
    expect(pattern('*.co.uk').error?.issues[0]?.message).toContain('public suffix "co.uk"');
  });

  it('have one spelling per host for any text, and never throw', () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.webAuthority(), fc.string({ unit: 'binary' })), text => {
        const once = canonicalHost(text);
        if (once !== null) expect(canonicalHost(once)).toBe(once);
        const parsed = pattern(text);
        if (parsed.success) expect(pattern(parsed.data).data).toBe(parsed.data);
      }),
      { numRuns: 3000 },
    );
  });
});

const judge = (layers: Partial<Record<PolicyLayer, object>>) =>
  compileSites(
    Object.entries(layers).map(([layer, sites]) => ({ layer: layer as PolicyLayer, sites: siteRules.parse(sites) })),
  ); // keys are layers
const at = (url: string) => {
  const { protocol, hostname, port } = new URL(url);
  const scheme = protocol === 'https:' ? ('https' as const) : ('http' as const);
  return { scheme, host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (scheme === 'https' ? 443 : 80) };
};

describe('site rules', () => {
  const table: [string, Partial<Record<PolicyLayer, object>>, string, string | true][] = [
    ['nothing said', {}, 'https://any.example/', true],
    ['exact allow', { session: { allow: ['a.example'] } }, 'https://a.example/', true],
    [
      'exact allow is not its subdomains',
      { session: { allow: ['a.example'] } },
      'https://b.a.example/',
      'site_not_allowed',
    ],
    ['star covers below', { session: { allow: ['*.a.example'] } }, 'https://x.y.a.example/', true],
    ['star does not cover itself', { session: { allow: ['*.a.example'] } }, 'https://a.example/', 'site_not_allowed'],
    [
      'star covers no look-alike',
      { session: { allow: ['*.a.example'] } },
      'https://evil-a.example/',
      'site_not_allowed',
    ],
    ['nor a longer name', { session: { allow: ['a.example'] } }, 'https://a.example.evil.test/', 'site_not_allowed'],
    [
      'deny wins over allow',
      { session: { allow: ['*.a.example'], deny: ['x.a.example'] } },
      'https://x.a.example/',
      'site_denied',
    ],
    [
      'deny wins over a more exact allow',
      { session: { allow: ['x.a.example'], deny: ['*.a.example'] } },
      'https://x.a.example/',
      'site_denied',
    ],
    [
      'deployment deny stands',
      { deployment: { deny: ['a.example'] }, session: { allow: ['a.example'] } },
      'https://a.example/',
      'site_denied',
    ],
    [
      'session deny narrows',
      { deployment: { allow: ['*.a.example'] }, session: { deny: ['x.a.example'] } },
      'https://x.a.example/',
      'site_denied',
    ],
    [
      'no layer widens another',
      { deployment: { allow: ['a.example'] }, session: { allow: ['b.example'] } },
      'https://b.example/',
      'site_not_allowed',
    ],
    [
      'what all allow is open',
      { deployment: { allow: ['*.a.example'] }, session: { allow: ['x.a.example'] } },
      'https://x.a.example/',
      true,
    ],
    ['empty allow closes all', { session: { allow: [] } }, 'https://a.example/', 'site_not_allowed'],
    ['https only refuses http', { user: { httpsOnly: true } }, 'http://a.example/', 'https_only'],
    [
      'https only of any layer',
      { deployment: { httpsOnly: true }, session: { httpsOnly: false } },
      'http://a.example/',
      'https_only',
    ],
    ['https only lets https', { user: { httpsOnly: true } }, 'https://a.example/', true],
    ['other ports are shut', {}, 'https://a.example:8443/', 'port_refused'],
    ['named ports are open', { session: { ports: [443, 8443] } }, 'https://a.example:8443/', true],
    ['named ports shut the others', { session: { ports: [8443] } }, 'https://a.example/', 'port_refused'],
    [
      'ports of every layer',
      { deployment: { ports: [443] }, session: { ports: [443, 8443] } },
      'https://a.example:8443/',
      'port_refused',
    ],
    ['an address by itself', { session: { deny: ['93.184.216.34'] } }, 'https://93.184.216.34/', 'site_denied'],
    [
      'an address under no allow list',
      { session: { allow: ['a.example'] } },
      'https://93.184.216.34/',
      'site_not_allowed',
    ],
    ['IPv6 in one spelling', { session: { deny: ['2606:4700:0::1111'] } }, 'https://[2606:4700::1111]/', 'site_denied'],
    [
      'IDN in one spelling',
      { session: { deny: ['münchen.example'] } },
      'https://xn--mnchen-3ya.example/',
      'site_denied',
    ],
  ];
  it.each(table)('%s', (_name, layers, url, expected) => {
    const verdict = judge(layers)(at(url));
    expect(verdict.allowed || verdict.code).toBe(expected);
  });

  it('names the pattern and the narrowest layer that decided', () => {
    const layers = { deployment: { deny: ['*.a.example'] }, session: { deny: ['*.b.a.example'] } };
    expect(judge(layers)(at('https://c.b.a.example/'))).toMatchObject({ layer: 'session', rule: '*.b.a.example' });
    expect(judge(layers)(at('https://c.a.example/'))).toMatchObject({ layer: 'deployment', rule: '*.a.example' });
    expect(
      judge({ session: { allow: ['*.example', '*.a.example'].slice(1) } })(at('https://c.a.example/')),
    ).toMatchObject({ allowed: true, rule: '*.a.example', layer: 'session' });
  });

  it('with httpsOnly requires TLS in every tunnel and refuses tunnels to port 80', () => {
    const only = judge({ user: { httpsOnly: true } });
    expect(only({ scheme: 'tunnel', host: 'a.example', port: 443 })).toMatchObject({ allowed: true, tlsOnly: true });
    expect(only({ scheme: 'tunnel', host: 'a.example', port: 80 })).toMatchObject({
      allowed: false,
      code: 'https_only',
    });
    expect(judge({})({ scheme: 'tunnel', host: 'a.example', port: 80 })).toMatchObject({
      allowed: true,
      tlsOnly: false,
    });
  });

  it('never lets a layer open what other layers close', () => {
    const host = fc.constantFrom('a.example', 'x.a.example', 'b.example', 'y.x.a.example');
    const rules = fc.record(
      {
        allow: fc.array(fc.constantFrom('a.example', '*.a.example', 'b.example')),
        deny: fc.array(host),
        httpsOnly: fc.boolean(),
        ports: fc.subarray([80, 443, 8080], { minLength: 1 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        rules,
        rules,
        host,
        fc.constantFrom('http', 'https', 'tunnel'),
        fc.constantFrom(80, 443, 8080),
        (one, two, name, scheme, port) => {
          const request = { scheme, host: name, port } as const;
          const both = judge({ deployment: one, session: two })(request).allowed;
          const alone = judge({ deployment: one })(request);
          if (!alone.allowed && alone.layer !== null) expect(both).toBe(false);
        },
      ),
    );
  });
});
