import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import engineServices from '@pulumi/pulumi/proto/engine_grpc_pb.js';
import engineMessages from '@pulumi/pulumi/proto/engine_pb.js';
import monitorServices from '@pulumi/pulumi/proto/resource_grpc_pb.js';
import messages from '@pulumi/pulumi/proto/resource_pb.js';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import struct from 'google-protobuf/google/protobuf/struct_pb.js';
import { answer, created } from './aws.ts';
import { isSecret, plain } from './pulumi-values.ts';

/** One resource as the engine was asked for it. */
export interface Registered {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
  readonly props: Readonly<Record<string, unknown>>;
  readonly protect: boolean;
  readonly remote: boolean;
  /** URNs of what must be there first, and must go last; the provider of a resource is one of them. */
  readonly dependencies: readonly string[];
}

export interface Run {
  readonly exitCode: number | null;
  readonly resources: readonly Registered[];
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly secretOutputs: readonly string[];
  /** Errors that the person at the terminal would see. */
  readonly errors: readonly string[];
}

type Callback<T> = (error: Partial<grpc.ServiceError> | null, answer?: T) => void;
type Call<T> = grpc.ServerUnaryCall<T, unknown>;

const STACK = 'pulumi:pulumi:Stack';
/** Features of the engine of this SDK's version that this program could use. */
const FEATURES = ['secrets', 'resourceReferences', 'outputValues', 'aliasSpecs', 'deletedWith'];

const root = fileURLToPath(new URL('../..', import.meta.url));

const toStruct = (value: unknown): struct.Struct => struct.Struct.fromJavaScript(JSON.parse(JSON.stringify(value)));

/**
 * Runs the program as `pulumi up` does: the language host starts `@pulumi/pulumi/cmd/run`, which asks an engine over
 * gRPC for each resource. This engine says yes to everything. In a preview nothing gets an id, and what only AWS
 * knows stays unknown.
 */
export async function runProgram(args: {
  main: string;
  stack: string;
  config: Readonly<Record<string, string>>;
  preview: boolean;
}): Promise<Run> {
  const resources: Registered[] = [];
  const errors: string[] = [];
  let outputs: Record<string, unknown> = {};
  let secretOutputs: string[] = [];

  const server = new grpc.Server();
  server.addService(monitorServices.ResourceMonitorService as unknown as grpc.ServiceDefinition, {
    supportsFeature(call: Call<messages.SupportsFeatureRequest>, done: Callback<messages.SupportsFeatureResponse>) {
      done(null, new messages.SupportsFeatureResponse().setHassupport(FEATURES.includes(call.request.getId())));
    },
    invoke(call: Call<messages.ResourceInvokeRequest>, done: Callback<messages.ResourceInvokeResponse>) {
      done(null, new messages.ResourceInvokeResponse().setReturn(toStruct(answer(call.request.getTok()))));
    },
    registerResource(call: Call<messages.RegisterResourceRequest>, done: Callback<messages.RegisterResourceResponse>) {
      const request = call.request;
      const [type, name] = [request.getType(), request.getName()];
      const urn = `urn:pulumi:${args.stack}::omicron-browser::${type}::${name}`;
      const props = plain(request.getObject()?.toJavaScript() ?? {}) as Record<string, unknown>;
      resources.push({
        urn,
        type,
        name,
        props,
        protect: request.getProtect() ?? false,
        remote: request.getRemote(),
        dependencies: [...request.getDependenciesList(), request.getProvider().replace(/::[^:]*$/, '')],
      });
      const response = new messages.RegisterResourceResponse().setUrn(urn);
      if (!args.preview)
        response.setId(request.getCustom() ? `${name}-id` : '').setObject(toStruct(created(type, name, props)));
      else if (request.getCustom()) response.setObject(request.getObject()); // a remote component's outputs stay unknown
      done(null, response);
    },
    registerResourceOutputs(call: Call<messages.RegisterResourceOutputsRequest>, done: Callback<empty.Empty>) {
      const raw = call.request.getOutputs()?.toJavaScript() ?? {};
      if (call.request.getUrn().includes(STACK)) {
        outputs = plain(raw) as Record<string, unknown>;
        secretOutputs = Object.keys(raw).filter(name => isSecret(raw[name]));
      }
      done(null, new empty.Empty());
    },
    signalAndWaitForShutdown: (_: unknown, done: Callback<empty.Empty>) => done(null, new empty.Empty()),
  });
  server.addService(engineServices.EngineService as unknown as grpc.ServiceDefinition, {
    log(call: Call<engineMessages.LogRequest>, done: Callback<empty.Empty>) {
      if (call.request.getSeverity() === engineMessages.LogSeverity.ERROR) errors.push(call.request.getMessage());
      done(null, new empty.Empty());
    },
    setRootResource: (_: unknown, done: Callback<unknown>) => done(null, new engineMessages.SetRootResourceResponse()),
    getRootResource: (_: unknown, done: Callback<unknown>) => done(null, new engineMessages.GetRootResourceResponse()),
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });

  const here = `127.0.0.1:${port}`;
  const child = spawn(
    process.execPath,
    [
      `${root}/node_modules/@pulumi/pulumi/cmd/run`,
      ...[`--monitor=${here}`, `--engine=${here}`, '--project=omicron-browser', `--stack=${args.stack}`],
      ...[`--pwd=${root}`, `--root-directory=${root}`, '--parallel=16', ...(args.preview ? ['--dry-run'] : [])],
      args.main,
    ],
    {
      env: {
        PATH: process.env.PATH,
        PULUMI_CONFIG: JSON.stringify(args.config),
        PULUMI_CONFIG_SECRET_KEYS: '[]',
        PULUMI_NODEJS_TYPESCRIPT: 'false',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  child.stderr.on('data', text => errors.push(String(text)));
  const exitCode = await new Promise<number | null>(resolve => child.once('close', resolve));
  server.forceShutdown();
  return { exitCode, resources, outputs, secretOutputs, errors };
}
