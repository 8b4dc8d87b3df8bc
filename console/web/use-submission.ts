import { useState } from 'preact/hooks';
import { messageOf } from './use-polled.ts';

export interface Submission<Answer> {
  /** The result of the last submission; undefined while one runs. */
  readonly answer: Answer | undefined;
  /** Why the last submission failed. */
  readonly failure: string | undefined;
  readonly isRunning: boolean;
  readonly onSubmit: (event: SubmitEvent & { currentTarget: HTMLFormElement }) => void;
}

/** A form that asks the server something: each submission calls `ask` with its fields, and the answer stays until the next one. */
export function useSubmission<Answer>(ask: (fields: FormData) => Promise<Answer>): Submission<Answer> {
  const [answer, setAnswer] = useState<Answer>();
  const [failure, setFailure] = useState<string>();
  const [isRunning, setRunning] = useState(false);
  const submit = async (fields: FormData) => {
    setAnswer(undefined);
    setFailure(undefined);
    setRunning(true);
    try {
      setAnswer(await ask(fields));
    } catch (error) {
      setFailure(messageOf(error));
    }
    setRunning(false);
  };
  return {
    answer,
    failure,
    isRunning,
    onSubmit: event => {
      event.preventDefault();
      void submit(new FormData(event.currentTarget));
    },
  };
}

/** The text of a field, without the spaces around it. */
export const typedIn = (fields: FormData, name: string): string => String(fields.get(name)).trim();
