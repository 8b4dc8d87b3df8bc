/** `user_id` is `userId` in the SDK: its options are the wire's fields, each listed once, in `contract/`. */
export type CamelCased<Fields> = {
  [Name in keyof Fields as Name extends string ? CamelCase<Name> : never]: Fields[Name];
};
type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** The other way round; values stay as they are. */
export const toSnakeCase = <Value>(fields: Record<string, Value>): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.replace(/[A-Z]/g, each => `_${each.toLowerCase()}`), value]),
  );
