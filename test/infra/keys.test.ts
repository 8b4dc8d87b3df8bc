import { beforeAll, expect, test } from 'vitest';
import { evaluate } from '../policies/evaluate.ts';
import { ACCOUNT, arn, REGION } from './aws.ts';
import { type CapturedStack, capture, stackConfig } from './capture.ts';
import { all, one } from './find.ts';

let dev: CapturedStack;
beforeAll(async () => {
  dev = await capture(stackConfig('dev'));
});

test('recordings, profiles, Secrets, and logs with images have a key each, by name, rotated', () => {
  expect(
    all(dev, 'Alias')
      .map(({ props }) => props.name)
      .sort(),
  ).toEqual(['artifacts', 'platform', 'profiles', 'secrets'].map(name => `alias/omicron-browser-dev/${name}`));
  for (const { props } of all(dev, 'Key')) expect(props.enableKeyRotation).toBe(true);
});

test('CloudWatch encrypts the log groups of this stack under the platform key, and no other', async () => {
  const policy: unknown = JSON.parse(String(one(dev, 'Key', 'platform').props.policy));
  const encrypts = async (group: string): Promise<boolean> => {
    const verdict = await evaluate(
      {
        principal: `logs.${REGION}.amazonaws.com`,
        action: 'kms:GenerateDataKey',
        resource: arn.key('platform'),
        account: ACCOUNT,
        context: { 'kms:EncryptionContext:aws:logs:arn': `arn:aws:logs:${REGION}:${ACCOUNT}:log-group:${group}` },
      },
      { identity: [], resource: policy },
    );
    return verdict.allowed;
  };
  const groups = all(dev, 'LogGroup').map(({ props }) => String(props.name));
  expect(groups).toHaveLength(2);
  for (const group of groups) expect(await encrypts(group), group).toBe(true);
  expect(await encrypts('/somebody/else')).toBe(false);
});
