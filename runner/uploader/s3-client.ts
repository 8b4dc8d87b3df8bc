import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { S3Client } from '@aws-sdk/client-s3';
import { fromTokenFile } from '@aws-sdk/credential-provider-web-identity';
import { NodeHttpHandler } from '@smithy/node-http-handler';

/** One attempt of one request; a part of 8 MiB at a megabit per second takes a minute. */
const CONNECT_MS = 10_000;
const REQUEST_MS = 90_000;

export interface S3ClientOptions {
  readonly region: string;
  /** The way out (`http://user:password@host:port`), for S3 and STS alike; undefined: straight. */
  readonly proxyUrl: string | undefined;
  /** S3 answers at an address of its own (AWS_ENDPOINT_URL_S3): it knows buckets by path, not by host name. */
  readonly ownEndpoint: boolean;
}

/**
 * S3 under the role that the pod's token stands for (IRSA). The SDK reads AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE
 * and the endpoints from the environment, and asks STS again before its credential ends. It repeats nothing: only the
 * uploader knows which conditional write is a repetition (docs/adr/0017).
 */
export function createUploadClient({ region, proxyUrl, ownEndpoint }: S3ClientOptions): S3Client {
  const agent = { keepAlive: true, ...(proxyUrl === undefined ? {} : { proxyEnv: proxyVariables(proxyUrl) }) };
  const requestHandler = new NodeHttpHandler({
    connectionTimeout: CONNECT_MS,
    requestTimeout: REQUEST_MS,
    throwOnRequestTimeout: true,
    httpAgent: new HttpAgent(agent),
    httpsAgent: new HttpsAgent(agent),
  });
  return new S3Client({
    region,
    requestHandler,
    credentials: fromTokenFile({ clientConfig: { region, requestHandler, maxAttempts: 1 } }),
    maxAttempts: 1,
    forcePathStyle: ownEndpoint,
  });
}

const proxyVariables = (url: string) => ({ HTTP_PROXY: url, HTTPS_PROXY: url });
