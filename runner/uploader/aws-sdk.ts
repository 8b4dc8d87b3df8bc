import { EnvironmentError } from '../../process/environment.ts';

/** Loaded for the first upload. The published command leaves them out: its runners keep recordings in a folder. */
const PACKAGES = ['@aws-sdk/client-s3', '@aws-sdk/credential-provider-web-identity', '@smithy/node-http-handler'];

/** Throws EnvironmentError where uploads to S3 cannot work; loads none of the packages. */
export function requireAwsSdk(): void {
  const missing = PACKAGES.filter(name => !isInstalled(name));
  if (missing.length > 0)
    throw new EnvironmentError(
      'uploader',
      missing.map(name => [name, `is not installed, and uploads to S3 need it: run "npm install ${name}"`]),
    );
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}
