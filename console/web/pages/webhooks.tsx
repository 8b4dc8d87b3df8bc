import { useState } from 'preact/hooks';
import type {
  Webhook,
  WebhookAdded,
  WebhookFailurePage,
  WebhookSecret,
  WebhookTest,
} from '../../../contract/webhook.ts';
import { callConsole, encodePath } from '../api.ts';
import { Confirm } from '../confirm.tsx';
import { Empty, Failure, Loading, Success } from '../notices.tsx';
import { dayAndTime, formatRelative } from '../time.ts';
import { messageOf, usePolled } from '../use-polled.ts';
import { typedIn, useSubmission } from '../use-submission.ts';

/** Endpoints that events are sent to: how far each has come, and what it did not take. For admins. */
export function WebhooksPage() {
  const webhooks = usePolled('webhooks', 5_000, async signal => {
    return (await callConsole<{ webhooks: Webhook[] }>('GET', '/webhooks', undefined, signal)).webhooks;
  });
  const [done, setDone] = useState<string>();
  const [failure, setFailure] = useState<string>();
  const act = (work: () => Promise<string>) => async () => {
    setDone(undefined);
    setFailure(undefined);
    try {
      setDone(await work());
    } catch (error) {
      setFailure(messageOf(error));
    }
    webhooks.refresh();
  };
  return (
    <>
      <h1>Webhooks</h1>
      <Failure text={failure ?? webhooks.error} />
      <Success text={done} />
      {webhooks.value === undefined && webhooks.error === undefined && <Loading what="webhooks" />}
      {webhooks.value?.length === 0 && (
        <Empty title="No webhooks yet">
          <p>
            Add an address below: events of sessions are sent there as they come, signed, and again until they are
            taken.
          </p>
        </Empty>
      )}
      <ul class="rows">
        {webhooks.value?.map(webhook => (
          <li key={webhook.id}>
            <WebhookRow webhook={webhook} act={act} />
          </li>
        ))}
      </ul>
      <NewWebhook onAdded={webhooks.refresh} />
    </>
  );
}

type Act = (work: () => Promise<string>) => () => Promise<void>;

function WebhookRow({ webhook, act }: { webhook: Webhook; act: Act }) {
  const { id, url, kinds, user_id, description, paused_at, failed } = webhook;
  const [isOpen, setOpen] = useState(false);
  const [rotated, setRotated] = useState<WebhookSecret>();
  const host = new URL(url).host;
  return (
    <>
      <strong>{url}</strong> <span class="muted">{description}</span>
      <div>
        {(kinds ?? ['all kinds']).join(', ')} {user_id !== null && `of ${user_id}`}
      </div>
      <div class="muted">{stateOf(webhook, Date.now())}</div>
      <p class="actions">
        <button
          type="button"
          class="quiet"
          onClick={act(async () => {
            const { delivered, error, duration_ms } = await callConsole<WebhookTest>(
              'POST',
              encodePath`/webhooks/${id}/test`,
            );
            if (!delivered) throw new Error(`${host} did not take the test: ${error}.`);
            return `${host} took the test in ${duration_ms} ms.`;
          })}
        >
          Test
        </button>
        <button
          type="button"
          class="quiet"
          onClick={act(async () => {
            await callConsole('POST', encodePath`/webhooks/${id}/${paused_at === null ? 'pause' : 'resume'}`);
            return paused_at === null ? `${host} is paused.` : `${host} goes on.`;
          })}
        >
          {paused_at === null ? 'Pause' : 'Resume'}
        </button>
        {failed > 0 && (
          <button type="button" class="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Undelivered ({failed})
          </button>
        )}
        <Confirm
          label="Rotate secret"
          question={`A new secret signs events to ${host}; for a day the one before signs too. Make it?`}
          onConfirm={act(async () => {
            setRotated(undefined);
            setRotated(await callConsole<WebhookSecret>('POST', encodePath`/webhooks/${id}/rotate-secret`));
            return `${host} has a new secret.`;
          })}
        />
        <Confirm
          label={`Delete ${host}`}
          question="Events are no longer sent there, and its list of undelivered ones goes. Delete it?"
          onConfirm={act(async () => {
            await callConsole('DELETE', encodePath`/webhooks/${id}`);
            return `${host} is deleted.`;
          })}
        />
      </p>
      {rotated !== undefined && (
        <div class="notice success" role="status">
          Its new secret, which is shown this once: <code>{rotated.secret}</code> The one before signs too until{' '}
          {dayAndTime(rotated.both_until)}.{' '}
          <button type="button" class="quiet" onClick={() => setRotated(undefined)}>
            Hide
          </button>
        </div>
      )}
      {isOpen && failed > 0 && <Undelivered id={id} act={act} />}
    </>
  );
}

function stateOf({ paused_at, waiting_sessions, last_error, delivered_at }: Webhook, nowMs: number): string {
  const delivered =
    delivered_at === null ? 'Nothing was delivered yet' : `Delivered ${formatRelative(delivered_at, nowMs)}`;
  if (paused_at !== null) return `Paused ${formatRelative(paused_at, nowMs)}. ${delivered}.`;
  if (waiting_sessions === 0) return `${delivered}.`;
  return `${delivered}. Events of ${waiting_sessions} ${waiting_sessions === 1 ? 'session' : 'sessions'} wait: ${last_error}.`;
}

function Undelivered({ id, act }: { id: string; act: Act }) {
  const page = usePolled(`failures ${id}`, 5_000, signal =>
    callConsole<WebhookFailurePage>('GET', encodePath`/webhooks/${id}/failures`, undefined, signal),
  );
  if (!page.value) return page.error ? <Failure text={page.error} /> : <Loading what="events" />;
  return (
    <>
      <table>
        <caption>
          Events that were not delivered within a day{page.value.next_cursor !== null && ', the newest ones'}
        </caption>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Time</th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {page.value.failures.map(({ id: event, session_id, kind, at, error, attempts, replaying }) => (
            <tr key={event}>
              <th scope="row">
                <a href={`/sessions/${session_id}`}>{kind}</a>
              </th>
              <td>{dayAndTime(at)}</td>
              <td>
                {replaying ? 'is sent again' : `${error}, ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        <button
          type="button"
          onClick={act(async () => {
            const { replayed } = await callConsole<{ replayed: number }>(
              'POST',
              encodePath`/webhooks/${id}/replay`,
              {},
            );
            return `${replayed} ${replayed === 1 ? 'event is' : 'events are'} sent again.`;
          })}
        >
          Send all again
        </button>
      </p>
    </>
  );
}

function NewWebhook({ onAdded }: { onAdded: () => void }) {
  const { answer, failure, isRunning, onSubmit } = useSubmission(async fields => {
    const kinds = typedIn(fields, 'kinds')
      .split(/[\s,]+/)
      .filter(kind => kind !== '');
    const added = await callConsole<WebhookAdded>('POST', '/webhooks', {
      url: typedIn(fields, 'url'),
      kinds: kinds.length === 0 ? null : kinds,
      user_id: typedIn(fields, 'user') || null,
      description: typedIn(fields, 'description'),
    });
    onAdded();
    return added;
  });
  return (
    <form class="form" aria-label="New webhook" onSubmit={onSubmit}>
      <h2>New webhook</h2>
      <label>
        Address
        <input
          name="url"
          type="url"
          required
          maxLength={2_000}
          placeholder="https://example.com/hooks"
          autocomplete="off"
        />
      </label>
      <label>
        Kinds of events (empty: all)
        <input name="kinds" placeholder="session.ended session.error" autocomplete="off" />
      </label>
      <label>
        User (empty: all)
        <input name="user" maxLength={256} autocomplete="off" />
      </label>
      <label>
        Description
        <input name="description" maxLength={200} autocomplete="off" />
      </label>
      <Failure text={failure} />
      {answer !== undefined && (
        <div class="notice success" role="status">
          Its secret, which is shown this once: <code>{answer.secret}</code>
        </div>
      )}
      <p class="actions">
        <button type="submit" disabled={isRunning}>
          Add
        </button>
      </p>
    </form>
  );
}
