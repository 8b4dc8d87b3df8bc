import { useState } from 'preact/hooks';
import type { PolicyDocument } from '../../../contract/policy/document.ts';
import { callConsole, encodePath, Refused } from '../api.ts';
import { Confirm } from '../confirm.tsx';
import { go } from '../location.ts';
import { Failure, Loading, Success } from '../notices.tsx';
import { PolicyTest } from '../policy-test.tsx';
import { type FormSchema, SchemaForm } from '../schema-form.tsx';
import { messageOf, usePolled } from '../use-polled.ts';
import { UserChoice } from '../user-choice.tsx';

const NEW_POLICY = { version: 1, tools: [] };
const writePolicy = (policy: unknown): string => JSON.stringify(policy, null, 2);

/** Undefined: the text is not that of an object. */
function documentOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

interface Presets {
  presets: { name: string; title: string; policy: PolicyDocument }[];
}

/** The deployment's policy, or one user's: edit it, begin with a preset, test a call before it is saved. */
export function PoliciesPage({ url }: { url: URL }) {
  const userId = url.searchParams.get('user') ?? '';
  return (
    <>
      <h1>Policies</h1>
      <UserChoice
        userId={userId}
        label="User (empty: the whole deployment)"
        onChoose={chosen => go(chosen === '' ? '/policies' : `/policies?${new URLSearchParams({ user: chosen })}`)}
      />
      <PolicyLayer key={userId} userId={userId} />
    </>
  );
}

function PolicyLayer({ userId }: { userId: string }) {
  const at = userId === '' ? '/policy' : encodePath`/users/${userId}/policy`;
  const whose = userId === '' ? 'The deployment' : userId;
  const stored = usePolled(`policy ${userId}`, 60_000, signal =>
    callConsole<{ policy: PolicyDocument | null }>('GET', at, undefined, signal),
  );
  const presets = usePolled('presets', 3_600_000, signal =>
    callConsole<Presets>('GET', '/policy-presets', undefined, signal),
  );
  const schema = usePolled('policy schema', 3_600_000, signal =>
    callConsole<FormSchema>('GET', '/policy-schema', undefined, signal),
  );
  /** Null: as it is stored. */
  const [draft, setDraft] = useState<string | null>(null);
  const [errors, setErrors] = useState<readonly string[]>([]);
  const [done, setDone] = useState<string>();
  if (!stored.value) return stored.error ? <Failure text={stored.error} /> : <Loading what="the policy" />;
  const { policy } = stored.value;
  const text = draft ?? writePolicy(policy ?? NEW_POLICY);

  const edit = (next: string) => {
    setDraft(next);
    setErrors([]);
    setDone(undefined);
  };
  const change = async (success: string, work: () => Promise<unknown>) => {
    setErrors([]);
    setDone(undefined);
    try {
      await work();
      setDraft(null);
      stored.refresh();
      setDone(success);
    } catch (error) {
      const found = error instanceof Refused ? error.errors : undefined;
      setErrors(found?.map(each => `${each.path} ${each.message}`) ?? [messageOf(error)]);
    }
  };
  const save = () =>
    change('Saved. Running leases obey it within seconds.', async () => callConsole('PUT', at, JSON.parse(text)));
  return (
    <>
      <p>
        {policy === null ? `${whose} has no policy: what no other layer refuses is allowed.` : `${whose} has a policy.`}{' '}
        A narrower layer cannot allow what a wider one blocks.
      </p>
      <fieldset class="choices">
        <legend>Begin with a preset</legend>
        {presets.value?.presets.map(({ name, title, policy: preset }) => (
          <button type="button" class="quiet" key={name} title={title} onClick={() => edit(writePolicy(preset))}>
            {name}
          </button>
        ))}
      </fieldset>
      <PolicyEditor text={text} schema={schema.value} isInvalid={errors.length > 0} onEdit={edit} />
      {errors.length > 0 && (
        <ul class="notice failure" role="alert">
          {errors.map(error => (
            <li>{error}</li>
          ))}
        </ul>
      )}
      <Success text={done} />
      <p class="actions">
        <button type="button" disabled={draft === null} onClick={save}>
          Save
        </button>
        <button type="button" class="quiet" disabled={draft === null} onClick={() => setDraft(null)}>
          Discard changes
        </button>
        {policy !== null && (
          <Confirm
            label="Delete the policy"
            question="Everything that only this policy blocks will be allowed. Delete it?"
            onConfirm={() => change('Deleted.', () => callConsole('DELETE', at))}
          />
        )}
      </p>
      <PolicyTest policy={text} />
    </>
  );
}

/** The document as a form that its schema describes, or as JSON. */
function PolicyEditor(props: {
  text: string;
  schema: FormSchema | undefined;
  isInvalid: boolean;
  onEdit: (text: string) => void;
}) {
  const { text, schema, isInvalid, onEdit } = props;
  const [editor, setEditor] = useState<'form' | 'json'>('form');
  const document = documentOf(text);
  return (
    <>
      <fieldset class="choices">
        <legend class="unseen">Edit as</legend>
        {(['form', 'json'] as const).map(each => (
          <label>
            <input type="radio" name="editor" checked={editor === each} onChange={() => setEditor(each)} />
            {each === 'form' ? 'Form' : 'JSON'}
          </label>
        ))}
      </fieldset>
      {editor === 'json' && (
        <label class="editor">
          Policy document (JSON)
          <textarea
            rows={18}
            spellcheck={false}
            value={text}
            aria-invalid={isInvalid}
            onInput={event => onEdit(event.currentTarget.value)}
          />
        </label>
      )}
      {editor === 'form' && document === undefined && (
        <Failure text="The document is not JSON, so there is no form for it. Correct it as JSON, or discard the changes." />
      )}
      {editor === 'form' && document !== undefined && schema && (
        <div class="form">
          <SchemaForm schema={schema} value={document} onChange={next => onEdit(writePolicy(next))} />
        </div>
      )}
    </>
  );
}
