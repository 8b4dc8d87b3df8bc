import { callConsole } from './api.ts';
import { Failure } from './notices.tsx';
import { typedIn, useSubmission } from './use-submission.ts';

interface Verdict {
  action: 'allow' | 'block';
  /** The rule of `tools` that decided; null: a default did. */
  index: number | null;
  reason: string;
}

/** Says which rule of a document decides a call, whether the document is saved or not. */
export function PolicyTest({ policy }: { policy: string }) {
  const {
    answer: verdict,
    failure,
    onSubmit,
  } = useSubmission(fields =>
    callConsole<Verdict>('POST', '/policy-test', {
      policy: JSON.parse(policy),
      tool: typedIn(fields, 'tool'),
      arguments: JSON.parse(typedIn(fields, 'arguments') || '{}'),
      untrusted: fields.has('untrusted'),
    }),
  );
  return (
    <form class="form" aria-labelledby="policy-test" onSubmit={onSubmit}>
      <h2 id="policy-test">Test a call</h2>
      <label>
        Tool
        <input name="tool" required defaultValue="browser_navigate" autocomplete="off" />
      </label>
      <label>
        Arguments (JSON)
        <input name="arguments" defaultValue='{"url": "https://example.com"}' autocomplete="off" />
      </label>
      <label class="check">
        <input type="checkbox" name="untrusted" />
        The agent has seen web content
      </label>
      <Failure text={failure} />
      <p class={verdict ? `notice ${verdict.action === 'allow' ? 'success' : 'failure'}` : 'unseen'} role="status">
        {verdict &&
          `${verdict.action === 'allow' ? 'Allowed' : 'Blocked'} by ${verdict.index === null ? 'a default' : `tools[${verdict.index}]`}: ${verdict.reason}`}
      </p>
      <p class="actions">
        <button type="submit">Test the call</button>
      </p>
    </form>
  );
}
