import { expect, test } from 'vitest';
import { callText } from '../start.ts';
import { startLease } from '../start-lease.ts';
import { watchLive } from './viewer.ts';

const FORM = `data:text/html,<title>Log in</title><style>body{margin:0}input{position:absolute;left:100px;top:100px;width:200px;height:40px}</style>
<label>Password<input type=password oninput="out.textContent = 'you typed ' + this.value"></label><p id=out></p>`;
const PASSWORD = 'difference-engine-2';

test('a password that a person typed and left in its field is in no result and no event', async () => {
  await using lease = await startLease();
  await callText(lease.client, 'browser_navigate', { url: FORM });
  const person = await watchLive(lease.runner.url, await lease.controller.liveToken(lease.runner, {}));
  const { you } = await person.heard('hello');
  person.say({ t: 'take' });
  await person.heard('control', ({ control }) => control.state === 'person' && control.holder === you);
  person.say({ t: 'mouse', kind: 'down', x: 200, y: 120, button: 'left', buttons: 1, clicks: 1 });
  person.say({ t: 'mouse', kind: 'up', x: 200, y: 120, button: 'left', clicks: 1 });
  person.say({ t: 'text', text: PASSWORD });
  person.say({ t: 'release' });
  await person.heard('control', ({ control }) => control.state === 'agent');

  const snapshot = await callText(lease.client, 'browser_snapshot');
  expect(snapshot).toContain('textbox "Password"');
  expect(snapshot).toContain('TYPED_PASSWORD');
  const read = await callText(lease.client, 'browser_evaluate', {
    function: '() => document.querySelector("input").value',
  });
  for (const told of [snapshot, read, JSON.stringify(lease.controller.events)]) expect(told).not.toContain(PASSWORD);
  person.close();
});
