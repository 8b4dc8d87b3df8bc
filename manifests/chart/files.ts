import { Yaml } from 'cdk8s';
import * as z from 'zod';
import { HELPERS, settingsDefinition, templateFile } from './helm.ts';
import { objectTemplates, PROGRAMS } from './objects.ts';
import type { Template } from './template.ts';
import { chartValues, defaultValues } from './values.ts';

type Program = keyof typeof PROGRAMS;

const NOTES = `Browsers of {{ .Values.name }}: capacity {{ int .Values.limits.capacity }}, for clients in the namespace omicron.
The Secrets are not of the chart: docs/install-helm.md, "Secrets". Until they are there, pods wait.
`;

/** Every file of the Helm chart, by its path. The same version gives the same bytes. */
export function chartFiles(version: string): ReadonlyMap<string, string> {
  const objects = objectTemplates();
  const settings = new Map<Program, Template>();
  for (const { file, template } of objects) {
    const program = (Object.keys(PROGRAMS) as Program[]).find(each =>
      file.endsWith(`/configmap.${PROGRAMS[each]}.yaml`),
    );
    if (program) settings.set(program, settingsIn(template));
  }
  const definitions = [...settings].map(([program, data]) => settingsDefinition(program, data));
  const schema = z.toJSONSchema(valuesSchema(settings), { io: 'input' });
  return new Map([
    ['Chart.yaml', Yaml.stringify(about(version))],
    ['values.yaml', Yaml.stringify(defaultValues())],
    ['values.schema.json', `${JSON.stringify(schema, null, 2)}\n`],
    ['templates/_definitions.tpl', [HELPERS, ...definitions].join('\n')],
    ['templates/NOTES.txt', NOTES],
    ...objects.map(({ file, when, template }) => [`templates/${file}`, templateFile(when, template)] as const),
  ]);
}

const about = (version: string) => ({
  apiVersion: 'v2',
  name: 'omicron-browser',
  description: 'Leased, isolated browsers for AI agents, served over Playwright MCP',
  type: 'application',
  version,
  appVersion: version,
  kubeVersion: '>=1.30.0-0', // docs/versions.md
});

function valuesSchema(settings: ReadonlyMap<Program, Template>) {
  const set = (program: Program) => new Set(keysOf(settings.get(program)));
  return chartValues({ controller: set('controller'), egress: set('egress'), console: set('console') });
}

const keysOf = (data: Template | undefined): string[] => (data?.is === 'map' ? data.entries.map(({ key }) => key) : []);

function settingsIn(object: Template): Template {
  const data = object.is === 'map' ? object.entries.find(({ key }) => key === 'data')?.value : undefined;
  if (data?.is !== 'settings') throw new Error('a ConfigMap without settings');
  return data.data;
}
