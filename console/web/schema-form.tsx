import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

/** As much of JSON Schema as the schema of a policy uses. */
export interface FormSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly items?: FormSchema;
  readonly properties?: Readonly<Record<string, FormSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: FormSchema | false;
  readonly oneOf?: readonly FormSchema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, FormSchema>>;
}

type Document = Readonly<Record<string, unknown>>;

interface FieldProps {
  readonly root: FormSchema;
  readonly schema: FormSchema;
  readonly name: string;
  readonly value: unknown;
  /** Undefined takes the field out of the document. */
  readonly onChange: (value: unknown) => void;
}

/** A form for a document of this schema. Rules that the schema does not have, such as patterns, are checked when it is saved. */
export function SchemaForm(props: { schema: FormSchema; value: Document; onChange: (value: Document) => void }) {
  const { schema, value, onChange } = props;
  return <Properties root={schema} schema={resolveSchema(schema, schema)} value={value} onChange={onChange} />;
}

function resolveSchema(root: FormSchema, schema: FormSchema): FormSchema {
  const name = schema.$ref?.replace('#/$defs/', '');
  return name === undefined ? schema : (root.$defs?.[name] ?? {});
}

/** The value of a new entry. */
function createBlank(root: FormSchema, given: FormSchema): unknown {
  const schema = resolveSchema(root, given);
  if (schema.const !== undefined) return schema.const;
  if (schema.oneOf?.[0]) return createBlank(root, schema.oneOf[0]);
  if (schema.enum) return schema.enum[0];
  if (schema.type === 'array') return [];
  if (schema.type === 'object')
    return Object.fromEntries(
      (schema.required ?? []).map(name => [name, createBlank(root, schema.properties?.[name] ?? {})]),
    );
  return schema.type === 'boolean' ? false : '';
}

const HIDDEN: readonly string[] = ['$schema'];

function Properties(
  props: Omit<FieldProps, 'name' | 'value' | 'onChange'> & { value: Document; onChange: (value: Document) => void },
) {
  const { root, schema, value, onChange } = props;
  const fields = Object.entries(schema.properties ?? {}).filter(
    ([name, each]) => !HIDDEN.includes(name) && each.const === undefined,
  );
  return (
    <>
      {fields.map(([name, each]) => (
        <Field
          key={name}
          root={root}
          schema={resolveSchema(root, each)}
          name={name}
          value={value[name]}
          onChange={next => {
            const { [name]: _, ...others } = value;
            onChange(next === undefined ? others : { ...others, [name]: next });
          }}
        />
      ))}
    </>
  );
}

function Field(props: FieldProps) {
  const { root, schema, name, value, onChange } = props;
  if (schema.enum)
    return (
      <label>
        {name}
        <select value={String(value ?? '')} onChange={event => onChange(event.currentTarget.value || undefined)}>
          <option value="">–</option>
          {schema.enum.map(each => (
            <option value={each}>{each.replaceAll('_', ' ')}</option>
          ))}
        </select>
      </label>
    );
  if (schema.type === 'boolean')
    return (
      <label class="check">
        <input
          type="checkbox"
          checked={value === true}
          onChange={event => onChange(event.currentTarget.checked || undefined)}
        />
        {name}
      </label>
    );
  if (schema.type === 'array' && schema.items) {
    const items = resolveSchema(root, schema.items);
    return items.type === 'object' || items.oneOf ? (
      <List {...props} schema={items} />
    ) : (
      <Lines {...props} schema={items} />
    );
  }
  if (schema.type === 'object' && schema.additionalProperties) return <Entries {...props} />;
  if (schema.type === 'object')
    return (
      <Group title={name}>
        <Properties root={root} schema={schema} value={(value ?? {}) as Document} onChange={onChange} />
      </Group>
    );
  const isNumber = schema.type === 'number' || schema.type === 'integer';
  return (
    <label>
      {name}
      <input
        inputMode={isNumber ? 'numeric' : 'text'}
        value={String(value ?? '')}
        autocomplete="off"
        onInput={event => onChange(read(schema, event.currentTarget.value))}
      />
    </label>
  );
}

const Group = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <fieldset class="group">
    <legend>{title}</legend>
    {children}
  </fieldset>
);

/** The typed text, as the schema wants it; what is no number stays text, for the document's own check to name. */
function read(schema: FormSchema, typed: string): unknown {
  if (typed === '') return undefined;
  const number = schema.type === 'number' || schema.type === 'integer' ? Number(typed) : Number.NaN;
  return Number.isNaN(number) ? typed : number;
}

/** A list of words or numbers, one a line. Typed text stays as it is while it means the same. */
function Lines({ schema, name, value, onChange }: FieldProps) {
  const lines = Array.isArray(value) ? value.map(String) : [];
  const [typed, setTyped] = useState('');
  const text = linesOf(typed).join('\n') === lines.join('\n') ? typed : lines.join('\n');
  return (
    <label>
      {name} <span class="muted">one a line</span>
      <textarea
        rows={Math.max(2, lines.length + 1)}
        spellcheck={false}
        value={text}
        onInput={event => {
          const next = linesOf(event.currentTarget.value);
          setTyped(event.currentTarget.value);
          onChange(next.length === 0 ? undefined : next.map(line => read(schema, line)));
        }}
      />
    </label>
  );
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');

/** A list of objects. */
function List({ root, schema, name, value, onChange }: FieldProps) {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  const replace = (at: number, ...by: unknown[]) => onChange(entries.toSpliced(at, 1, ...by));
  return (
    <Group title={name}>
      {entries.map((entry, at) => (
        <Group title={`${name} ${at + 1}`}>
          <Variant root={root} schema={schema} name="" value={entry} onChange={next => replace(at, next)} />
          <button type="button" class="quiet" onClick={() => replace(at)}>
            Remove {name} {at + 1}
          </button>
        </Group>
      ))}
      <button type="button" class="quiet" onClick={() => onChange([...entries, createBlank(root, schema)])}>
        Add to {name}
      </button>
    </Group>
  );
}

/** An object, or one of several kinds of it: they differ in the property that has one value in each. */
function Variant({ root, schema, value, onChange }: FieldProps) {
  const entry = (value ?? {}) as Document;
  if (!schema.oneOf) return <Properties root={root} schema={schema} value={entry} onChange={onChange} />;
  const kinds = schema.oneOf;
  const [name = ''] = Object.entries(kinds[0]?.properties ?? {}).find(([, each]) => each.const !== undefined) ?? [];
  const kindOf = (kind: FormSchema) => String(kind.properties?.[name]?.const);
  const chosen = kinds.find(kind => kindOf(kind) === entry[name]) ?? kinds[0] ?? {};
  return (
    <>
      <label>
        {name}
        <select
          value={kindOf(chosen)}
          onChange={event => {
            const kind = kinds.find(each => kindOf(each) === event.currentTarget.value) ?? {};
            onChange({
              ...(createBlank(root, kind) as Document),
              ...pick(entry, kind),
              [name]: event.currentTarget.value,
            });
          }}
        >
          {kinds.map(kind => (
            <option value={kindOf(kind)}>{kindOf(kind)}</option>
          ))}
        </select>
      </label>
      <Properties root={root} schema={chosen} value={entry} onChange={onChange} />
    </>
  );
}

/** Fields that another kind has too, in the same form. */
const pick = (entry: Document, { properties = {} }: FormSchema): Document =>
  Object.fromEntries(
    Object.entries(entry).filter(([name, value]) => {
      const { type } = properties[name] ?? {};
      return type !== undefined && type === (Array.isArray(value) ? 'array' : typeof value);
    }),
  );

/** Lists under names of the person's own. */
function Entries({ root, schema, name, value, onChange }: FieldProps) {
  const entries = Object.entries((value ?? {}) as Document);
  const items = schema.additionalProperties || {};
  const change = (at: number, ...by: [string, unknown][]) =>
    onChange(Object.fromEntries(entries.toSpliced(at, 1, ...by)));
  return (
    <Group title={name}>
      {entries.map(([key, entry], at) => (
        <Group title={`${name} ${at + 1}`}>
          <label>
            name
            <input value={key} autocomplete="off" onChange={event => change(at, [event.currentTarget.value, entry])} />
          </label>
          <Field
            root={root}
            schema={items}
            name="values"
            value={entry}
            onChange={next => change(at, [key, next ?? []])}
          />
          <button type="button" class="quiet" onClick={() => change(at)}>
            Remove {key || `${name} ${at + 1}`}
          </button>
        </Group>
      ))}
      <button type="button" class="quiet" onClick={() => onChange({ ...Object.fromEntries(entries), '': [] })}>
        Add to {name}
      </button>
    </Group>
  );
}
