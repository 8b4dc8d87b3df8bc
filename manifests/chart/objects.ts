import { SERVICES, TOMBSTONES_MAX } from '../../contract/names.ts';
import { FOLDERS, renderObjects } from '../render.ts';
import type { Presence } from './conditions.ts';
import { MARKED } from './symbols.ts';
import { type ByVariant, merge, type Sum, type Template } from './template.ts';
import { VARIANTS, type Variant } from './variants.ts';

/** An object of the chart, by its file as `manifests/rendered/<env>` has it. */
export interface ObjectTemplate {
  readonly file: string;
  readonly when: Presence;
  readonly template: Template;
}

/** Programs of which the values may have further settings. */
export const PROGRAMS = {
  controller: SERVICES.controller,
  egress: SERVICES.egress,
  console: SERVICES.console,
} as const;

/** The chart leaves out the Applications that let Argo CD read the folders which it takes the place of. */
export const isOfTheChart = (file: string): boolean =>
  file.startsWith(`${FOLDERS.core}/`) || file.startsWith(`${FOLDERS.monitoring}/`);

/** Every object of every environment, from the code that renders the environments. */
export function objectTemplates(): readonly ObjectTemplate[] {
  const base = renderObjects(MARKED);
  const others = VARIANTS.map(variant => [variant, renderObjects(variant.env)] as const);
  const files = new Set([...base.keys(), ...others.flatMap(([, objects]) => [...objects.keys()])]);
  return [...files].filter(isOfTheChart).map(file => {
    const having = others.filter(([, objects]) => objects.has(file));
    const object = base.get(file);
    // each variant takes away, so an object that is nowhere but in a variant has no place here
    if (object === undefined) throw new Error(`${file} is in no environment that has everything`);
    const rest: ByVariant = new Map(
      having.map(([variant, objects]): [Variant, unknown] => [variant, objects.get(file)]),
    );
    const absent = others.filter(([, objects]) => !objects.has(file)).map(([variant]) => variant);
    return { file, when: { unlessAny: absent }, template: derive(file, merge(object, rest)) };
  });
}

/** Puts what is computed from several fields in place of what was computed from their marks. */
function derive(file: string, template: Template): Template {
  const name = file.split('/').at(-1) ?? '';
  if (name === 'resourcequota.runners.yaml') return replace(template, ['spec', 'hard'], quota);
  if (name === 'deployment.spare-runner.yaml')
    return replace(template, ['spec', 'template', 'spec', 'containers', '0', 'resources'], spareResources);
  for (const [program, service] of Object.entries(PROGRAMS)) {
    if (name === `configmap.${service}.yaml`)
      return replace(template, ['data'], data => ({ is: 'settings', program, data }));
    if (name === `deployment.${service}.yaml`)
      return replace(template, ['spec', 'template', 'metadata', 'annotations', 'omicron.dev/settings-digest'], () => ({
        is: 'settings-digest',
        program,
      }));
  }
  return template;
}

type Field = 'cpu' | 'memory' | 'ephemeralStorage';
const sum = (times: Sum['times'], field: Field, at: 0 | 1): Sum => ({
  is: 'sum',
  unit: field === 'cpu' ? 'cpu' : 'bytes',
  times,
  of: [`runner.browser.${field}.${at}`, `runner.uploader.${field}.${at}`],
});
const count = (plus: number): Sum => ({ is: 'sum', unit: 'count', times: 'pods', of: [], plus });

const quota = (hard: Template): Template => {
  const computed: Readonly<Record<string, Template>> = {
    'count/pods': count(0),
    'count/endpointslices.discovery.k8s.io': count(TOMBSTONES_MAX),
    'requests.cpu': sum('pods', 'cpu', 0),
    'limits.cpu': sum('pods', 'cpu', 1),
    'requests.memory': sum('pods', 'memory', 0),
    'limits.memory': sum('pods', 'memory', 1),
    'requests.ephemeral-storage': sum('pods', 'ephemeralStorage', 0),
    'limits.ephemeral-storage': sum('pods', 'ephemeralStorage', 1),
  };
  return withValues(hard, computed);
};

const spareResources = (resources: Template): Template => {
  const amounts: Readonly<Record<string, Template>> = {
    cpu: sum('one', 'cpu', 0),
    memory: sum('one', 'memory', 0),
    'ephemeral-storage': sum('one', 'ephemeralStorage', 0),
  };
  return ['requests', 'limits'].reduce((all, key) => replace(all, [key], each => withValues(each, amounts)), resources);
};

function withValues(of: Template, values: Readonly<Record<string, Template>>): Template {
  if (of.is !== 'map') throw new Error(`a ${of.is} has no entries`);
  return { ...of, entries: of.entries.map(entry => ({ ...entry, value: values[entry.key] ?? entry.value })) };
}

/** The template with another one at the path. */
function replace(of: Template, [key, ...rest]: readonly string[], by: (old: Template) => Template): Template {
  if (key === undefined) return by(of);
  if (of.is === 'list')
    return {
      ...of,
      items: of.items.map((item, at) => (String(at) === key ? { ...item, of: replace(item.of, rest, by) } : item)),
    };
  if (of.is !== 'map' || !of.entries.some(entry => entry.key === key)) throw new Error(`nothing at ${key}`);
  return {
    ...of,
    entries: of.entries.map(entry => (entry.key === key ? { ...entry, value: replace(entry.value, rest, by) } : entry)),
  };
}
