import { type ServerMessage, serverMessage, type ViewerMessage } from '../../../contract/live.ts';
import { LIVE_PROTOCOL, liveTokenProtocol } from '../../../contract/live-limits.ts';
import { decodePicture, type LivePicture } from '../../../contract/live-picture.ts';

type Of<T extends ServerMessage['t']> = Extract<ServerMessage, { t: T }>;

const HEARD_MS = 20_000;

/** A viewer of a live view, as a console is one. */
export interface TestViewer {
  readonly pictures: LivePicture[];
  readonly messages: ServerMessage[];
  /** The code with which it was closed; undefined while it is open. */
  closed(): number | undefined;
  say(message: ViewerMessage | object): void;
  /** The first message of this kind, from now on or before, that is as wanted. */
  heard<T extends ServerMessage['t']>(t: T, wanted?: (message: Of<T>) => boolean): Promise<Of<T>>;
  close(): void;
}

/** Connects with the token; `acknowledges` false: as one that is too slow. Rejects if it is refused. */
export async function watchLive(url: string, token: string, acknowledges = true): Promise<TestViewer> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/live`, [LIVE_PROTOCOL, liveTokenProtocol(token)]);
  socket.binaryType = 'arraybuffer';
  const pictures: LivePicture[] = [];
  const messages: ServerMessage[] = [];
  let more = Promise.withResolvers<void>();
  let code: number | undefined;
  const say = (message: object) => socket.send(JSON.stringify(message));
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') {
      messages.push(serverMessage.parse(JSON.parse(data)));
      more.resolve();
      more = Promise.withResolvers();
      return;
    }
    const picture = decodePicture(data as ArrayBuffer); // its binaryType
    if (picture === undefined) throw new Error('not a picture');
    pictures.push(picture);
    if (acknowledges) say({ t: 'ack', seq: picture.seq });
  });
  const { promise: opened, resolve, reject } = Promise.withResolvers<void>();
  socket.addEventListener('open', () => resolve());
  socket.addEventListener('error', () => reject(new Error('refused')));
  socket.addEventListener('close', event => {
    code = event.code;
  });
  await opened;
  return {
    ...{ pictures, messages, say },
    closed: () => code,
    async heard(t, wanted = () => true) {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(new Error(`not within ${HEARD_MS} ms: the message ${t}`)), HEARD_MS);
      try {
        for (;;) {
          const found = messages.find(
            (message): message is Of<typeof t> => message.t === t && wanted(message as Of<typeof t>),
          );
          if (found !== undefined) return found;
          await Promise.race([more.promise, late.promise]);
        }
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => socket.close(),
  };
}
