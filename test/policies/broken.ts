import type { Resource } from '../../policies/rule.ts';

const ROLE = 'aws:iam/role:Role';

/** By rule, then by what breaks it. */
export type Breaks = Readonly<Record<string, Readonly<Record<string, Break>>>>;

/** A stack in which one thing is changed, as JSON would be by hand. */
export type Break = (edit: Edit) => void;

export interface Edit {
  /** Changes the inputs of one resource. */
  change(type: string, name: string, edit: (props: Record<string, unknown>) => void): void;
  /** Changes the statement with this Sid in a document of one resource. */
  statement(type: string, name: string, sid: string, edit: (statement: Record<string, unknown>) => void): void;
  remove(type: string, name: string): void;
  add(type: string, name: string, props: Record<string, unknown>): void;
  unprotect(type: string, name: string): void;
}

export function broken(stack: readonly Resource[], how: Break): readonly Resource[] {
  let resources = structuredClone(stack) as {
    type: string;
    name: string;
    props: Record<string, unknown>;
    protect: boolean;
  }[];
  const one = (type: string, name: string) => {
    const found = resources.find(resource => resource.type === type && resource.name === name);
    if (!found) throw new Error(`the stack has no ${type} ${name}`);
    return found;
  };
  how({
    change: (type, name, edit) => edit(one(type, name).props),
    statement(type, name, sid, edit) {
      const { props } = one(type, name);
      const property = type === ROLE ? 'assumeRolePolicy' : 'policy';
      const document = JSON.parse(String(props[property])) as { Statement: Record<string, unknown>[] };
      const statement = document.Statement.find(each => each.Sid === sid);
      if (!statement) throw new Error(`${name} has no statement ${sid}`);
      edit(statement);
      props[property] = JSON.stringify(document);
    },
    remove(type, name) {
      const gone = one(type, name);
      resources = resources.filter(resource => resource !== gone);
    },
    add: (type, name, props) => resources.push({ type, name, props, protect: false }),
    unprotect(type, name) {
      one(type, name).protect = false;
    },
  });
  return resources;
}
