import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  choice,
  decimal,
  derivedSetting,
  EnvironmentError,
  httpUrl,
  integer,
  originsSchema,
  parseEnvironment,
  portSchema,
  sharedSecret,
  wordsSchema,
} from '../../process/environment.ts';

const VARIABLES = {
  name: ['APP_NAME', z.string()],
  port: ['APP_PORT', portSchema().default(8080)],
  waitSeconds: ['APP_WAIT', decimal(0.1, 10).default(1)],
  workers: ['APP_WORKERS', integer(1, 8).default(2)],
  mode: ['APP_MODE', choice('on', 'off').default('on')],
  url: ['APP_URL', httpUrl().optional()],
  peers: ['APP_PEERS', wordsSchema()],
  secret: ['APP_SECRET', sharedSecret().optional()],
  key: ['APP_KEY', derivedSetting('a JSON document', text => JSON.parse(text)).optional()],
} as const;
const read = (environment: Record<string, unknown>) => parseEnvironment('app', VARIABLES, environment);

/** The lines of the error, without the first. */
function faults(environment: Record<string, unknown>): string[] {
  try {
    read(environment);
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    const [title, ...lines] = error.message.split('\n');
    expect(title).toBe('The app cannot start:');
    return lines.map(line => line.trim());
  }
  throw new Error('it was taken');
}

describe('the environment of a program', () => {
  it('becomes settings by field, with defaults for what is not set or empty', () => {
    expect(
      read({ APP_NAME: 'a', APP_PORT: '', APP_URL: 'http://c/', APP_PEERS: 'x, y z', APP_KEY: '{"a":1}' }),
    ).toEqual({
      name: 'a',
      port: 8080,
      waitSeconds: 1,
      workers: 2,
      mode: 'on',
      url: 'http://c',
      peers: ['x', 'y', 'z'],
      secret: undefined,
      key: { a: 1 },
    });
  });

  it('is refused where a variable is named as a setting and is none, with the nearest name', () => {
    expect(faults({ APP_NAME: 'a', OMICRON_USER_LIMITS: '9', OMICRON_POOL_IDEL: '2' })).toEqual([
      'OMICRON_POOL_IDEL is no setting; did you mean OMICRON_POOL_IDLE? Correct or unset it',
      'OMICRON_USER_LIMITS is no setting; did you mean OMICRON_USER_LIMIT? Correct or unset it',
    ]);
  });

  it('takes the variables that Kubernetes sets for a Service, and those of tests', () => {
    const service = { OMICRON_API_SERVICE_HOST: '10.0.0.1', OMICRON_API_SERVICE_PORT_HTTP: '80' };
    const port = { OMICRON_API_PORT: 'tcp://10.0.0.1:80', OMICRON_API_PORT_80_TCP_ADDR: '10.0.0.1' };
    expect(() => read({ APP_NAME: 'a', ...service, ...port, OMICRON_TEST_SECRET: 'x' })).not.toThrow();
  });

  it('is refused with a line for each variable that is missing or wrong, all at once', () => {
    expect(
      faults({ APP_PORT: '99999', APP_WAIT: 'soon', APP_WORKERS: '1.5', APP_MODE: 'yes', APP_URL: 'ftp://c' }),
    ).toEqual([
      'APP_NAME is not set',
      'APP_PORT is wrong: must be a whole number from 0 to 65535, and is 99999',
      'APP_WAIT is wrong: must be a number from 0.1 to 10',
      'APP_WORKERS is wrong: must be a whole number from 1 to 8, and is 1.5',
      'APP_MODE is wrong: must be one of on, off',
      'APP_URL is wrong: must be an http or https URL',
    ]);
  });

  it('never quotes a value that may be a secret', () => {
    const wrong = faults({ APP_NAME: 'a', APP_SECRET: 'hunter2', APP_KEY: 'hunter2' });
    expect(wrong).toEqual([
      'APP_SECRET is wrong: must have at least 32 bytes',
      'APP_KEY is wrong: must be a JSON document',
    ]);
  });

  it('is judged as a whole once every variable is right', () => {
    const together = (environment: Record<string, unknown>) =>
      parseEnvironment('app', VARIABLES, environment, ({ mode, url }) =>
        mode === 'on' && url === undefined ? [['APP_URL', 'is not set, and APP_MODE=on needs it']] : [],
      );
    expect(() => together({ APP_NAME: 'a' })).toThrow(
      'The app cannot start:\n  APP_URL is not set, and APP_MODE=on needs it',
    );
    expect(together({ APP_NAME: 'a', APP_MODE: 'off' }).url).toBeUndefined();
    expect(() => together({})).toThrow('The app cannot start:\n  APP_NAME is not set');
  });
});

it('takes whole origins of web pages, and nothing else', () => {
  const variables = { origins: ['A_ORIGINS', originsSchema()] } as const;
  const read = (value: string) => parseEnvironment('console', variables, { A_ORIGINS: value }).origins;
  expect(read('https://a.example, http://127.0.0.1:3000')).toEqual(['https://a.example', 'http://127.0.0.1:3000']);
  expect(read('')).toEqual([]);
  for (const wrong of [
    '*',
    '127.0.0.1:3000',
    'https://a.example/',
    'http://a.example; script-src *',
    'ftp://a.example',
  ])
    expect(() => read(wrong), wrong).toThrow('is no origin');
});
