import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';

const tools = z.array(z.looseObject({ name: z.string(), inputSchema: z.looseObject({ type: z.literal('object') }) }));
const LISTS = z.record(z.string(), tools).parse(JSON.parse(await readFile('contract/tool-list.json', 'utf8')));

/** Clients put the name of their server before a tool's: Claude's, of 20 characters at most here. */
const PREFIX = 'mcp__omicron_browser__';
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
/** Anthropic's pattern of the names of properties. */
const PROPERTY = /^[a-zA-Z0-9_.-]{1,64}$/;
/** All that the three have in common: Gemini knows no others, OpenAI refuses `default` where it is strict. */
const KEYWORDS = ['type', 'description', 'enum', 'properties', 'required', 'items', 'additionalProperties'];
const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object'];

interface Schema {
  readonly [keyword: string]: unknown;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

/** Faults that a model API answers with an error for the whole request. */
function faultsOf(schema: Schema, path: string, isTop = false): string[] {
  const { type, properties = {}, required = [], items } = schema;
  const names = Object.keys(properties);
  return [
    ...Object.keys(schema)
      .filter(keyword => !KEYWORDS.includes(keyword))
      .map(keyword => `${path} has ${keyword}`),
    ...(TYPES.includes(type ?? '') ? [] : [`${path} has the type ${type}`]),
    ...(schema.enum?.every(value => typeof value === 'string') === false
      ? [`${path} has values that are no texts`]
      : []),
    ...(type === 'array' && items === undefined ? [`${path} is an array without items`] : []),
    ...(type === 'object' && names.length === 0 && !isTop ? [`${path} is an object without properties`] : []),
    ...(schema.additionalProperties === undefined || schema.additionalProperties === false
      ? []
      : [`${path} is open: no strict mode takes it`]),
    ...required.filter(name => !names.includes(name)).map(name => `${path} requires ${name}, which it lacks`),
    ...names.filter(name => !PROPERTY.test(name)).map(name => `${path} has a property ${name}`),
    ...Object.entries(properties).flatMap(([name, each]) => faultsOf(each, `${path}.${name}`)),
    ...(items === undefined ? [] : faultsOf(items, `${path}[]`)),
  ];
}

describe.each(Object.entries(LISTS))(
  'model APIs (OpenAI, strict too, Anthropic, Gemini) take the toolset %s',
  (_, list) => {
    test('by its names', () => {
      expect(list.filter(({ name }) => !NAME.test(`${PREFIX}${name}`))).toEqual([]);
    });

    test('by its schemas', () => {
      expect(list.flatMap(({ name, inputSchema }) => faultsOf(inputSchema as Schema, name, true))).toEqual([]);
    });
  },
);
