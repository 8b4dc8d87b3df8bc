import type { Tool } from '@modelcontextprotocol/server';

/** How `tools/list` describes a tool of Playwright MCP. */
export interface ToolWords {
  readonly title: string;
  readonly description: string;
  /** Descriptions of arguments. */
  readonly args: Readonly<Record<string, string>>;
  /** Arguments that are accepted, but not listed. */
  readonly unlisted: readonly string[];
  /** Arguments of our own, by their types; a list has the texts to choose from. */
  readonly added?: Readonly<Record<string, 'number' | 'string' | readonly string[]>>;
}

/**
 * Arguments of no tool's list: a file on the runner's disk is of no use to a remote agent, the names of elements are for people, and one
 * device pixel is one of CSS here.
 */
const HIDDEN = ['filename', 'element', 'startElement', 'endElement', 'scale'];

interface Schema {
  readonly [key: string]: unknown;
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly required?: readonly string[];
}

/** A tool of Playwright MCP for `tools/list`, with these words in place of its own. */
export const describeTool = (
  { name, inputSchema }: Tool,
  words: ToolWords,
  annotations: Tool['annotations'],
): Tool => ({
  name,
  title: words.title,
  description: words.description,
  // Playwright MCP's schemas are of objects, and so is the part of them that is left.
  inputSchema: addArguments(leanSchema(inputSchema as Schema, words), words) as Tool['inputSchema'],
  annotations,
});

const addArguments = (schema: Schema, words: ToolWords): Schema => ({
  ...schema,
  properties: {
    ...schema.properties,
    ...Object.fromEntries(
      Object.entries(words.added ?? {}).map(([name, type]) => [
        name,
        describeArgument(name, typeof type === 'string' ? { type } : { type: 'string', enum: type }, words),
      ]),
    ),
  },
});

/** Types and our own words; nothing that has a default is required. */
function leanSchema(schema: Schema, words: ToolWords): Schema {
  const { type, enum: values, anyOf, properties, items, required = [] } = schema;
  // Gemini refuses a whole request for an object without properties: `tools/` reads a text in its place.
  if (type === 'object' && properties === undefined) return { type: 'string' };
  const unlisted = [...HIDDEN, ...words.unlisted];
  const kept = Object.entries(properties ?? {}).filter(([name]) => !unlisted.includes(name));
  const needed = required.filter(name => properties?.[name]?.default === undefined);
  return {
    ...(type === undefined ? {} : { type }),
    ...(values === undefined ? {} : { enum: values }),
    ...(anyOf === undefined ? {} : { anyOf }),
    ...(items === undefined ? {} : { items: leanSchema(items, words) }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(kept.map(([name, each]) => [name, describeArgument(name, each, words)])) }),
    ...(needed.length > 0 ? { required: needed } : {}),
  };
}

function describeArgument(name: string, schema: Schema, words: ToolWords): Schema {
  const description = words.args[name];
  return { ...leanSchema(schema, words), ...(description === undefined ? {} : { description }) };
}
