import { readFileSync } from 'node:fs';
import { Comment, Converter, ReflectionKind } from 'typedoc';

// A plugin of TypeDoc. Types of the SDK that are documents of the API have their descriptions in the schemas, where the compiler does
// not look.
const OPENAPI = new URL('../../docs/openapi.json', import.meta.url);
const { schemas } = JSON.parse(readFileSync(OPENAPI, 'utf8')).components;

const descriptionOf = schema => schema?.description ?? schemas[schema?.$ref?.replace(/^.*\//, '')]?.description;

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const type of project.getReflectionsByKind(ReflectionKind.Interface)) {
      const schema = schemas[type.name];
      if (schema === undefined) continue;
      for (const property of type.children ?? []) {
        const text = descriptionOf(schema.properties?.[property.name]);
        if (text !== undefined) property.comment = new Comment([{ kind: 'text', text }]);
      }
    }
  });
}
