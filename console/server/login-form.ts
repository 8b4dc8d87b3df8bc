import * as z from 'zod';

const field = z.object({
  type: z.string(),
  name: z.string(),
  selector: z.string(),
  autocomplete: z.string(),
  disabled: z.boolean(),
});
type Field = z.infer<typeof field>;
/** Forms and fields of a page as `browser_get_content` lists them. */
export const pageForms = z.object({
  forms: z
    .array(z.object({ fields: z.array(field), submit: z.object({ selector: z.string() }).nullable() }))
    .default([]),
  fields: z.array(field).default([]),
});
export type PageForms = z.infer<typeof pageForms>;

/** The arguments of `browser_login` that name the fields of a form. */
export interface LoginFields {
  readonly usernameSelector?: string;
  readonly passwordSelector?: string;
  readonly submitSelector?: string;
}

const TEXT_TYPES: readonly string[] = ['', 'text', 'email', 'tel'];
const USERNAME = /user|e-?mail|login|account|identifier/i;

/**
 * The fields in which a page asks for a login: the form with a password, else one with a field that looks like a username (a login in two
 * steps). Undefined: nowhere.
 */
export function loginFields({ forms, fields }: PageForms): LoginFields | undefined {
  const all = [...forms, { fields, submit: null }].map(({ fields: each, submit }) => ({
    password: each.find(
      ({ type, disabled, autocomplete }) => type === 'password' && !disabled && autocomplete !== 'new-password',
    ),
    username: usernameOf(each),
    submit,
  }));
  const found =
    all.find(({ password }) => password !== undefined) ?? all.find(({ username }) => username !== undefined);
  if (found === undefined) return undefined;
  const { username, password, submit } = found;
  return {
    ...(username && { usernameSelector: username.selector }),
    ...(password && { passwordSelector: password.selector }),
    ...(submit && { submitSelector: submit.selector }),
  };
}

function usernameOf(fields: readonly Field[]): Field | undefined {
  const texts = fields.filter(({ type, disabled }) => TEXT_TYPES.includes(type) && !disabled);
  const hasPassword = fields.some(({ type }) => type === 'password');
  return (
    texts.find(({ autocomplete, type }) => autocomplete.includes('username') || type === 'email') ??
    texts.find(({ name, selector }) => USERNAME.test(name) || USERNAME.test(selector)) ??
    (hasPassword ? texts[0] : undefined)
  );
}
