import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import services from '@pulumi/pulumi/proto/analyzer_grpc_pb.js';
import messages from '@pulumi/pulumi/proto/analyzer_pb.js';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import struct from 'google-protobuf/google/protobuf/struct_pb.js';
import type { Resource } from '../../policies/rule.ts';

/** The pack's findings for a resource or stack. */
export interface Diagnostic {
  readonly policy: string;
  readonly message: string;
  readonly mandatory: boolean;
  readonly urn: string;
}

export interface Analyzer {
  policies(): Promise<{ name: string; mandatory: boolean }[]>;
  analyze(resource: Resource): Promise<Diagnostic[]>;
  analyzeStack(resources: readonly Resource[]): Promise<Diagnostic[]>;
  stop(): Promise<void>;
}

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

export const urnOf = ({ type, name }: Resource): string => `urn:pulumi:dev::omicron-browser::${type}::${name}`;

/** Starts the pack as the CLI does: Pulumi's own runner, in the pack's folder, which prints the port it serves. */
export async function startAnalyzer(): Promise<Analyzer> {
  const child = spawn(
    process.execPath,
    [path('../../node_modules/@pulumi/pulumi/cmd/run-policy-pack'), '127.0.0.1:1', '.'],
    {
      cwd: path('../../policies'),
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const complaints: string[] = [];
  child.stderr.on('data', text => complaints.push(String(text)));
  const exited = new Promise<number | null>(resolve => child.once('exit', resolve));
  const port = await Promise.race([
    new Promise<string>(resolve => createInterface(child.stdout).once('line', resolve)),
    exited.then(code => Promise.reject(new Error(`the pack ended with ${code}: ${complaints.join('')}`))),
  ]);
  const client = new services.AnalyzerClient(`127.0.0.1:${port}`, grpc.credentials.createInsecure());

  const diagnostics = (response: messages.AnalyzeResponse): Diagnostic[] =>
    response.getDiagnosticsList().map(one => ({
      policy: one.getPolicyname(),
      message: one.getMessage(),
      mandatory: one.getEnforcementlevel() === messages.EnforcementLevel.MANDATORY,
      urn: one.getUrn(),
    }));
  const options = ({ protect }: Resource): messages.AnalyzerResourceOptions =>
    new messages.AnalyzerResourceOptions().setProtect(protect);
  // Struct takes JSON and refuses `undefined`.
  const properties = ({ props }: Resource): struct.Struct =>
    struct.Struct.fromJavaScript(JSON.parse(JSON.stringify(props)));

  return {
    policies: () =>
      new Promise((resolve, reject) => {
        client.getAnalyzerInfo(new empty.Empty(), (error, info) =>
          error
            ? reject(error)
            : resolve(
                info.getPoliciesList().map(policy => ({
                  name: policy.getName(),
                  mandatory: policy.getEnforcementlevel() === messages.EnforcementLevel.MANDATORY,
                })),
              ),
        );
      }),
    analyze: resource =>
      new Promise((resolve, reject) => {
        const request = new messages.AnalyzeRequest()
          .setType(resource.type)
          .setName(resource.name)
          .setUrn(urnOf(resource))
          .setOptions(options(resource))
          .setProperties(properties(resource));
        client.analyze(request, (error, response) => (error ? reject(error) : resolve(diagnostics(response))));
      }),
    analyzeStack: resources =>
      new Promise((resolve, reject) => {
        const request = new messages.AnalyzeStackRequest().setResourcesList(
          resources.map(resource =>
            new messages.AnalyzerResource()
              .setType(resource.type)
              .setName(resource.name)
              .setUrn(urnOf(resource))
              .setOptions(options(resource))
              .setProperties(properties(resource)),
          ),
        );
        client.analyzeStack(request, (error, response) => (error ? reject(error) : resolve(diagnostics(response))));
      }),
    async stop() {
      client.close();
      child.kill();
      await exited;
    },
  };
}
