/** The WebSocket subprotocol of the live view: a viewer offers it, to a runner or controller together with its token. */
export const LIVE_PROTOCOL = 'omicron.live.v1';

/** A page cannot set headers of a WebSocket, and a URL is logged; Kubernetes passes bearer tokens the same way. */
export const LIVE_TOKEN_PREFIX = 'omicron.token.';
export const liveTokenProtocol = (token: string): string => `${LIVE_TOKEN_PREFIX}${token}`;

export const LIVE_LIMITS = {
  /** A token opens one socket in this time. */
  tokenSeconds: 60,
  /** Viewers of one lease. */
  viewersMax: 20,
  /** Pictures that a viewer may have without having acknowledged them. Only the newest of those that follow waits. */
  credits: 2,
  picturesPerSecond: 15,
  /** Bounds of a picture, in pixels. */
  picture: { width: 1280, height: 720 },
  /** One message of a viewer. */
  messageBytesMax: 14 * 1024 * 1024,
  /** Input messages of one viewer in a second; more close the socket. */
  inputsPerSecond: 1_000,
  /** Bytes that may wait for a viewer to read them. */
  unreadBytesMax: 8 * 1024 * 1024,
  /** Text that is typed, pasted or copied in one message, in UTF-16 code units. */
  textMax: 100_000,
  /** An address that a person goes to, in UTF-16 code units. */
  addressMax: 8_192,
  /** The answer to a page's prompt, in UTF-16 code units. */
  answerMax: 10_000,
  /** Text of an input method before it is done, in UTF-16 code units. */
  compositionMax: 1_000,
  /** One turn of a wheel, in CSS pixels. */
  wheelMax: 10_000,
  /** Why a person takes control from another one, in UTF-16 code units. */
  reasonMax: 200,
  /** Files for one file chooser: how many, and all of them together before base64. */
  filesMax: 10,
  fileBytesMax: 10 * 1024 * 1024,
  /** `ping` comes at this interval: proxies close connections that are silent for 60 s. */
  pingSeconds: 20,
  /** A viewer that answers neither pictures nor pings for this long is closed. */
  silentSeconds: 30,
  /** Control returns to the agent after this time without input. */
  idleSeconds: 60,
  /** Control returns to the agent when its holder's connection has been gone this long. */
  lostSeconds: 10,
  /** The agent's calls that wait for the person, and how long each one does: below the 60 s of MCP clients. */
  waitingCallsMax: 8,
  waitingCallSeconds: 45,
} as const;

/** Why the runner closed a socket: codes of RFC 6455's private range. */
export const LIVE_CLOSE = {
  badMessage: 4400,
  /** The token's right was withdrawn. */
  revoked: 4401,
  /** The viewer answered neither pictures nor pings. */
  silent: 4408,
  /** The lease has ended. */
  leaseEnded: 4410,
  tooManyInputs: 4429,
} as const;
