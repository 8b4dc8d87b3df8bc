import { expect, it } from 'vitest';
import { isSignedBy, webhookReceiver } from '../controller/webhook-receiver.ts';
import { eventually } from '../eventually.ts';
import { openConsole, phoneFaults } from './open-console.ts';

it('webhooks are added, tested, paused, resumed and deleted; what was not delivered is listed and sent again', async () => {
  await using opened = await openConsole();
  const { sessions, stack, page } = opened;
  const see = (text: string) => page.getByText(text).first().waitFor();
  await using receiver = await webhookReceiver();
  await page.goto(stack.console.link());
  await page.getByRole('link', { name: 'Webhooks' }).click();
  await see('No webhooks yet');
  await page.getByLabel('Address').fill('http://10.0.0.5/hooks');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('alert').getByText('10.0.0.5, which is an address of an internal network (private)').waitFor();
  await page.getByLabel('Address').fill(receiver.url);
  await page.getByLabel('Kinds of events').fill('session.ended, session.error');
  await page.getByLabel('Description').fill('billing');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const secret = await page.getByRole('form', { name: 'New webhook' }).getByRole('status').locator('code').innerText();
  await page.getByRole('listitem').getByText(receiver.url).waitFor();

  await page.getByRole('button', { name: 'Test' }).click();
  await see('took the test in');
  const [tested] = receiver.received;
  expect(tested && isSignedBy(secret, tested)).toBe(true);
  receiver.answer.with = () => 500;
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByRole('alert').getByText('did not take the test: answered 500').waitFor();

  const ended = await sessions.acquire({ userId: 'hopper', conversationId: 'hooked', recordVideo: false });
  await ended.end();
  await see('Events of 1 session wait: answered 500.');
  const [{ id } = { id: '' }] = await sessions.webhooks.list();
  await page.getByRole('button', { name: 'Pause' }).click();
  await see('is paused');
  expect((await sessions.webhooks.get(id)).paused_at).not.toBeNull();
  await page.getByRole('button', { name: 'Resume' }).click();
  await see('goes on');
  expect((await sessions.webhooks.get(id)).paused_at).toBeNull();
  receiver.answer.with = () => 204;
  await eventually('the event', () => receiver.received.at(-1)?.type === 'session.ended');
  await see('Delivered');
  expect(await phoneFaults(page)).toEqual([]);

  await page.getByRole('button', { name: 'Rotate secret' }).click();
  const question = page.getByRole('group', { name: 'for a day the one before signs too' });
  await question.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Rotate secret' }).click();
  await question.getByRole('button', { name: 'Rotate secret' }).click();
  const shown = page.getByRole('listitem').getByRole('status');
  const rotated = await shown.locator('code').innerText();
  expect(rotated).toMatch(/^whsec_/);
  expect(rotated).not.toBe(secret);
  expect(await phoneFaults(page)).toEqual([]);
  const untilText = /until (.+)\. Hide/.exec((await shown.innerText()).replaceAll(/\s+/g, ' '))?.[1];
  expect(untilText).toMatch(/\d/);
  await page.getByRole('button', { name: 'Test' }).click();
  await see('took the test in');
  const signed = receiver.received.at(-1);
  for (const each of [secret, rotated]) expect(signed && isSignedBy(each, signed)).toBe(true);
  await shown.getByRole('button', { name: 'Hide' }).click();
  expect(await page.content()).not.toContain(rotated);

  // As the controller's own tests show it, without a day's wait: a list that the console is answered with.
  const failed = { ...(await sessions.webhooks.get(id)), failed: 1 };
  const failure = {
    ...receiver.received.findLast(({ type }) => type === 'session.ended')?.event,
    ...{ attempts: 61, error: 'answered 500', failed_at: new Date().toISOString(), replaying: false },
  };
  await page.route('**/api/webhooks', route => route.fulfill({ json: { webhooks: [failed] } }));
  await page.route('**/failures', route => route.fulfill({ json: { failures: [failure], next_cursor: null } }));
  await page.getByRole('button', { name: 'Undelivered (1)' }).click();
  await page.getByRole('row', { name: 'session.ended' }).getByText('answered 500, 61 attempts').waitFor();
  expect(await phoneFaults(page)).toEqual([]);
  await page.getByRole('button', { name: 'Send all again' }).click();
  await see('0 events are sent again.'); // by the controller, which has none
  await page.unrouteAll();

  await page.getByRole('button', { name: /^Delete/ }).click();
  await page
    .getByRole('group')
    .getByRole('button', { name: /^Delete/ })
    .click();
  await see('No webhooks yet');
  expect(await sessions.webhooks.list()).toEqual([]);
  expect(opened.faults).toEqual([]); // inline code, another origin, an error
});
