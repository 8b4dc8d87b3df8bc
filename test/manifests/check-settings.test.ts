import { expect, test } from 'vitest';
import { checkSettings } from '../../manifests/check-settings.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { testCertificate } from '../site/certificate.ts';

const check = (settings: unknown) => () =>
  checkSettings({ name: 'prod', settings: settings as Environment['settings'] });

test('takes the settings of a program', () => {
  expect(check({ runner: { OMICRON_FREEZE_SECONDS: '120' } })).not.toThrow();
  expect(check(undefined)).not.toThrow();
});

test('refuses every setting with which a program would not start, and says what to write', () => {
  expect(
    check({
      runner: { OMICRON_FREEZE_SECONDS: '2m', OMICRON_FREZE_SECONDS: '120' },
      controller: { OMICRON_FREEZE_SECONDS: '120' },
      egress: { OMICRON_EGRESS_GRACE_SECONDS: 90 },
    }),
  ).toThrow(`manifests/environments.ts: the environment prod is wrong:
  settings.runner.OMICRON_FREEZE_SECONDS must be a whole number from 0 to 86400
  settings.runner.OMICRON_FREZE_SECONDS is no setting of the runner; did you mean OMICRON_FREEZE_SECONDS?
  settings.controller.OMICRON_FREEZE_SECONDS is no setting of the controller; set it under settings.runner
  settings.egress.OMICRON_EGRESS_GRACE_SECONDS must be a string: write '90'`);
});

test('refuses authorities of browsers that no runner would trust', () => {
  const runner = (OMICRON_CHROMIUM_CA: string) => check({ runner: { OMICRON_CHROMIUM_CA } });
  const { cert, key } = testCertificate('people', { authority: true });
  expect(runner(cert)).not.toThrow();
  const expired = testCertificate('former people', { authority: true, expired: true }).cert;
  expect(runner(cert + expired)).toThrow(/runner.OMICRON_CHROMIUM_CA CN=former people expired on 20.*its successor/);
  expect(runner('/etc/ca.pem')).toThrow('OMICRON_CHROMIUM_CA must be certificates in PEM');
  expect(runner(cert + key)).toThrow('OMICRON_CHROMIUM_CA must not hold a private key');
});

const LOCAL_COLLECTOR = { endpoint: 'http://collector:4318', to: [{ podSelector: {} }], ports: [4318] };

test.each([
  [{}, undefined],
  [{ traceRatio: '0.1' }, undefined],
  [{ endpoint: 'https://otlp.example.com/key' }, undefined],
  [{ endpoint: 'collector:4318' }, `collector.endpoint is wrong: "collector:4318" is no http or https URL; write the`],
  [{ endpoint: '' }, 'collector.endpoint is wrong: '],
  [{ endpoint: 'http://hunter22@collector:4318' }, 'send a key by OTEL_EXPORTER_OTLP_HEADERS'],
  [{ endpoint: 'http://10.9.0.7:4318' }, 'collector.endpoint http://10.9.0.7:4318 is in 10.9.0.0/16 of privateSites'],
  [{ to: [] }, 'collector needs `to`'],
  [{ traceRatio: 'half' }, `collector.traceRatio "half" is no share of traces: write a number from 0 to 1`],
])('a collector with %j: %s', (more, why) => {
  const checked = () =>
    checkSettings({
      name: 'prod',
      collector: { ...LOCAL_COLLECTOR, ...more },
      privateSites: { cidrs: ['10.9.0.0/16'], peers: [] },
    });
  if (why === undefined) return expect(checked).not.toThrow();
  expect(checked).toThrow(why);
  expect(checked).not.toThrow('hunter22');
});
