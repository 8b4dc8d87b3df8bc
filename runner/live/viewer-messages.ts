import type { InputMessage, ViewerMessage } from '../../contract/live.ts';
import type { Audience } from './audience.ts';
import type { Control } from './control.ts';
import type { PersonInput } from './person-input.ts';
import type { Viewer } from './viewer.ts';

export interface ViewerMessagesOptions {
  readonly control: Control;
  readonly input: PersonInput;
  readonly audience: Audience;
  /** Takes secrets out of a text. */
  readonly conceal: (text: string) => Promise<string>;
}

type Message = Exclude<ViewerMessage, { t: 'ack' | 'pong' }>;

/** Does as a viewer asks, or refuses it: takes or gives back control, or acts on the page while the viewer has it. */
export function viewerMessages({ control, input, audience, conceal }: ViewerMessagesOptions) {
  async function act(viewer: Viewer, message: InputMessage): Promise<void> {
    if (!control.mayAct(viewer.id)) {
      viewer.say({ t: 'refused', why: 'not_in_control', text: 'Take control first.' });
      return;
    }
    try {
      const copied = await input.act(message);
      if (message.t === 'copy') viewer.say({ t: 'clip', text: await conceal(copied ?? '') });
      if (message.t === 'mouse' && message.kind === 'down')
        audience.say({ t: 'act', by: 'person', kind: 'click', x: message.x, y: message.y });
    } catch (error) {
      const [text = ''] = (error instanceof Error ? error.message : '').split('\n');
      viewer.say({ t: 'refused', why: 'failed', text: await conceal(text) });
    }
  }

  async function take(viewer: Viewer, { from, reason }: Extract<Message, { t: 'take' }>): Promise<void> {
    const told = reason === undefined ? null : await conceal(reason);
    const isTaken = control.take(
      { id: viewer.id, identity: viewer.identity, name: viewer.name },
      from === undefined ? undefined : { id: from, reason: told },
    );
    if (!isTaken) viewer.say({ t: 'refused', why: 'held', text: 'Another person has control.' });
  }

  return (viewer: Viewer, message: Message): void => {
    if (viewer.role === 'view')
      viewer.say({ t: 'refused', why: 'view_only', text: 'This link shows the browser only.' });
    else if (message.t === 'take') void take(viewer, message);
    else if (message.t === 'release') control.giveBack(viewer.id, 'released');
    else void act(viewer, message);
  };
}
