import { Agent, request } from 'node:http';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';

/** Renewing get-or-create calls per second, over HTTP, of `conversations` that are already leased. */
export async function renewalsPerSecond(options: {
  url: string;
  serviceSecret: string;
  conversations: { userId: string; conversationId: string }[];
  callers: number;
  seconds: number;
}): Promise<number> {
  const { url, serviceSecret, conversations, callers, seconds } = options;
  // one token for all calls: it is valid for 60 s, and callers sign on machines of their own
  const token = await signServiceToken(serviceKey(serviceSecret));
  const agent = new Agent({ keepAlive: true, maxSockets: callers });
  const { hostname, port } = new URL(url);
  const bodies = conversations.map(({ userId, conversationId }) =>
    Buffer.from(JSON.stringify({ user_id: userId, conversation_id: conversationId, record_video: false })),
  );
  const call = (body: Buffer) =>
    new Promise<void>((resolve, reject) => {
      const sent = request(
        {
          agent,
          hostname,
          port,
          method: 'POST',
          path: '/internal/browser-sessions/get-or-create',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            'content-length': body.length,
          },
        },
        response => {
          response
            .resume()
            .once('end', () =>
              response.statusCode === 200
                ? resolve()
                : reject(new Error(`a renewal was answered with ${response.statusCode}`)),
            );
        },
      );
      sent.once('error', reject);
      sent.end(body);
    });
  const run = async (forMs: number): Promise<number> => {
    const untilMs = performance.now() + forMs;
    let done = 0;
    await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        for (let n = caller; performance.now() < untilMs; n++) {
          await call(bodies[n % bodies.length] ?? Buffer.alloc(0));
          done += 1;
        }
      }),
    );
    return done;
  };
  try {
    await run(2_000); // opens connections, compiles code
    const startMs = performance.now();
    const done = await run(seconds * 1_000);
    return Math.round((done * 1_000) / (performance.now() - startMs));
  } finally {
    agent.destroy();
  }
}
