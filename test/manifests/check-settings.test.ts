import { expect, test } from 'vitest';
import { checkSettings } from '../../manifests/check-settings.ts';
import type { Environment } from '../../manifests/environment-type.ts';

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
