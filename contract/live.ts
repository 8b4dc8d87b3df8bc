import * as z from 'zod';
import { epoch } from './lease-key.ts';
import { LIVE_LIMITS, LIVE_PROTOCOL, LIVE_TOKEN_PREFIX } from './live-limits.ts';

/**
 * The live view: pictures of a lease's browser for its viewers, and the input of the person who controls it. One
 * WebSocket a viewer, `/live` of the runner, reached through the controller's
 * `GET /internal/browser-sessions/{session_id}/live`. Pictures are binary messages (`live-picture.ts`), all else is
 * JSON text: `serverMessage` to the viewer, `viewerMessage` from it. docs/live-view.md has the protocol in words.
 */

/** The token among the offered subprotocols (the header's value); undefined where there is none. */
export function liveTokenOf(protocols: string | undefined): string | undefined {
  const offered = protocols?.split(',').map(each => each.trim());
  if (offered?.includes(LIVE_PROTOCOL) !== true) return undefined;
  return offered.find(each => each.startsWith(LIVE_TOKEN_PREFIX))?.slice(LIVE_TOKEN_PREFIX.length);
}

export const liveRole = z
  .enum(['view', 'control'])
  .meta({ id: 'LiveRole', description: '`view` sees; `control` may also take control.' });
export type LiveRole = z.infer<typeof liveRole>;

const viewerId = z.string().min(1).max(256);

/** Claims of a viewer's token (EdDSA; audience: live views of this runner): one socket to one lease, within a minute. */
export const liveTokenClaims = z.object({
  /** A token opens one socket. */
  jti: z.uuid(),
  session_id: z.uuid(),
  epoch,
  role: liveRole,
  /** The viewer: shown to other viewers and written to the timeline. */
  viewer: z.string().min(1).max(256),
  /** An id that no other viewer has: two people may share a name. Absent: the platform vouches that the name is unique. */
  viewer_id: viewerId.optional(),
});
export type LiveTokenClaims = z.infer<typeof liveTokenClaims>;

/** A person among others, in words of the timeline. A name that a platform vouches for is never taken for an id. */
export const identityOf = ({ viewer, viewer_id }: Pick<LiveTokenClaims, 'viewer' | 'viewer_id'>): string =>
  viewer_id === undefined ? `name ${viewer}` : `id ${viewer_id}`;

/** The person in the chat, who watches by an MCP App: the host shows it to no other. */
export const CHAT_VIEWER = { role: 'control', viewer: 'the person in the chat', viewer_id: 'chat' } as const;

/** Body of `POST /internal/browser-sessions/{session_id}/live-token`. */
export const liveTokenRequest = z
  .strictObject({
    role: liveRole.default('view'),
    viewer: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe("Name of the viewer, shown to other viewers and written to the timeline; default: the session's user."),
    viewer_id: viewerId
      .optional()
      .describe(
        'Id of that viewer, where names are not unique: control passes to another connection of the same id only.',
      ),
  })
  .meta({ id: 'LiveTokenRequest' });

export const liveTokenAnswer = z
  .object({
    token: z.string().describe('Token that opens one socket of the live view.'),
    role: liveRole,
    epoch,
    expires_at: z.iso.datetime().describe('Time before which the socket must be opened.'),
  })
  .meta({ id: 'LiveTokenAnswer' });
export interface LiveTokenAnswer extends z.infer<typeof liveTokenAnswer> {}

/**
 * The one who acts on the browser. `pausing`: a person has asked for control while a call of the agent still runs, or while what
 * another person held is lifted; no call starts and no input is carried out.
 */
export const CONTROL_STATES = ['agent', 'pausing', 'person'] as const;
export type ControlState = (typeof CONTROL_STATES)[number];

/** take | the running call has ended; released | released, idle, connection lost, lease ended; taken from this person. */
export const NEXT_CONTROL_STATES = {
  agent: ['pausing', 'person'],
  pausing: ['person', 'agent'],
  person: ['agent', 'pausing'],
} as const satisfies Record<ControlState, readonly ControlState[]>;

/** Why control came back to the agent. */
export const givenBack = z.enum(['released', 'idle', 'lost', 'lease_ended']);
export type GivenBack = z.infer<typeof givenBack>;

/** Why a person has control no longer; `taken`: another person took it from them. */
export type ControlEnd = GivenBack | 'taken';

/** In the words of the person who takes control from another one: shown to viewers, and written to the timeline. */
const takeReason = z.string().trim().min(1).max(LIVE_LIMITS.reasonMax);

const control = z.object({
  state: z.enum(CONTROL_STATES),
  /** The viewer's id (`hello.you`) that has control, or waits for it; null in the state `agent`. */
  holder: z.string().nullable(),
  /** The same viewer by name. */
  name: z.string().nullable(),
  /** Milliseconds until control returns by itself without further input; null in other states than `person`. */
  idle_ms: z.number().nullable(),
  /** The person from whom the holder took control, and why in the holder's words; null: from the agent. */
  taken_from: z.object({ id: z.string(), name: z.string(), reason: z.string().nullable() }).nullable(),
  /** The agent's calls that wait. */
  waiting: z.int(),
  /** The last return of control to the agent. */
  why: givenBack.nullable(),
});
export type LiveControl = z.infer<typeof control>;

const tab = z.object({ id: z.int(), url: z.string(), title: z.string(), shown: z.boolean() });
export type LiveTab = z.infer<typeof tab>;

/** A field whose list or picker is in no picture: a select, a date, a time, a colour. */
export const pickerField = z.object({
  kind: z.enum(['select', 'date', 'time', 'datetime-local', 'month', 'week', 'color']),
  /** As the field's own `value`; empty for selects. */
  value: z.string(),
  /** A select of which several options may be chosen. */
  multiple: z.boolean(),
  /** Options of a select. */
  options: z.array(z.object({ label: z.string(), selected: z.boolean(), disabled: z.boolean() })),
  /** As in HTML; empty: unbounded. */
  min: z.string(),
  max: z.string(),
  step: z.string(),
  /** Its place, in CSS pixels of the tab. */
  x: z.number(),
  y: z.number(),
  width: z.number(),
  height: z.number(),
});
export type PickerField = z.infer<typeof pickerField>;

/** Messages of the runner to a viewer. */
export const serverMessage = z.discriminatedUnion('t', [
  /** The first message. */
  z.object({
    t: z.literal('hello'),
    /** This viewer's id. */
    you: z.string(),
    role: liveRole,
    control,
    tabs: z.array(tab),
  }),
  z.object({ t: z.literal('control'), control }),
  z.object({ t: z.literal('tabs'), tabs: z.array(tab) }),
  /** Something acted on the page: for an overlay. In CSS pixels of the tab; without a place for keys and calls. */
  z.object({
    t: z.literal('act'),
    by: z.enum(['agent', 'person']),
    /** A tool's name, or `click`. */
    kind: z.string(),
    x: z.number().optional(),
    y: z.number().optional(),
  }),
  /** A dialog is open, until `answer` or the agent ends it. */
  z.object({
    t: z.literal('dialog'),
    tab: z.int(),
    type: z.enum(['alert', 'confirm', 'prompt', 'beforeunload']),
    text: z.string(),
    /** Default text of a prompt. */
    value: z.string(),
  }),
  /** The dialog of this tab is closed. */
  z.object({ t: z.literal('dialog_closed'), tab: z.int() }),
  /** The page asks for files, until `files` answers. */
  z.object({ t: z.literal('files'), tab: z.int(), multiple: z.boolean() }),
  /** The focus is in such a field, after something that the person in control did; `pick` chooses. Said again when that changes. */
  z.object({ t: z.literal('picker'), tab: z.int(), field: pickerField }),
  /** There is no field to choose for any more. */
  z.object({ t: z.literal('picker_closed'), tab: z.int() }),
  /** The answer to `copy`. */
  z.object({ t: z.literal('clip'), text: z.string() }),
  /** The agent asks its person for something; answered by `POST .../user-actions/{id}` of the session. */
  z.object({ t: z.literal('ask'), id: z.uuid(), reason: z.string(), expires_in_ms: z.number() }),
  /** The user action is answered, expired or cancelled. */
  z.object({ t: z.literal('ask_closed'), id: z.uuid() }),
  /** A message of this viewer was not carried out. */
  z.object({
    t: z.literal('refused'),
    /** `not_in_control`, `held` (another person has control), `view_only`, or `failed`. */
    why: z.enum(['not_in_control', 'held', 'view_only', 'failed']),
    /** A sentence for the person. */
    text: z.string(),
  }),
  /** Answer with `pong`. */
  z.object({ t: z.literal('ping') }),
]);
export type ServerMessage = z.infer<typeof serverMessage>;

const coordinate = z.number().min(-32_768).max(32_767);
/** Bits: alt 1, ctrl 2, meta 4, shift 8. */
const modifiers = z.int().min(0).max(15).default(0);
const short = z.string().max(64);

/** Input that moves the page: taken from the person in control only. */
export const inputMessage = z.discriminatedUnion('t', [
  /** In CSS pixels of the tab: x = distance from the picture's left edge * cssWidth / shown width. */
  z.strictObject({
    t: z.literal('mouse'),
    kind: z.enum(['down', 'up', 'move']),
    x: coordinate,
    y: coordinate,
    button: z.enum(['none', 'left', 'middle', 'right', 'back', 'forward']).default('none'),
    /** Pressed buttons, as `MouseEvent.buttons` has them. */
    buttons: z.int().min(0).max(31).default(0),
    /** 2: the second press of a double click. */
    clicks: z.int().min(0).max(3).default(0),
    modifiers,
  }),
  z.strictObject({
    t: z.literal('wheel'),
    x: coordinate,
    y: coordinate,
    dx: z.number().min(-LIVE_LIMITS.wheelMax).max(LIVE_LIMITS.wheelMax),
    dy: z.number().min(-LIVE_LIMITS.wheelMax).max(LIVE_LIMITS.wheelMax),
    modifiers,
  }),
  /** `KeyboardEvent`'s own values. */
  z.strictObject({
    t: z.literal('key'),
    kind: z.enum(['down', 'up']),
    key: short,
    code: short,
    /** `KeyboardEvent.keyCode`. */
    key_code: z.int().min(0).max(255).default(0),
    location: z.int().min(0).max(3).default(0),
    repeat: z.boolean().default(false),
    modifiers,
    /** The text that the key types, if it types any. */
    text: z.string().max(16).optional(),
  }),
  /** Typed or pasted as a whole. */
  z.strictObject({ t: z.literal('text'), text: z.string().max(LIVE_LIMITS.textMax) }),
  /** The composition of an input method; `text` ends it, an empty one cancels it. */
  z.strictObject({
    t: z.literal('ime'),
    text: z.string().max(LIVE_LIMITS.compositionMax),
    selection_start: z.int().min(0).max(LIVE_LIMITS.compositionMax),
    selection_end: z.int().min(0).max(LIVE_LIMITS.compositionMax),
  }),
  z.strictObject({
    t: z.literal('touch'),
    kind: z.enum(['start', 'move', 'end', 'cancel']),
    points: z.array(z.strictObject({ id: z.int().min(0).max(15), x: coordinate, y: coordinate })).max(10),
  }),
  /** Answered by `clip`; never from a password field. */
  z.strictObject({ t: z.literal('copy') }),
  z.strictObject({ t: z.literal('nav'), to: z.enum(['back', 'forward', 'reload']) }),
  z.strictObject({ t: z.literal('goto'), url: z.string().min(1).max(LIVE_LIMITS.addressMax) }),
  z.strictObject({ t: z.literal('tab'), id: z.int(), do: z.enum(['show', 'close']) }),
  /** The dialog that is open in this tab. */
  z.strictObject({
    t: z.literal('answer'),
    tab: z.int(),
    accept: z.boolean(),
    text: z.string().max(LIVE_LIMITS.answerMax).optional(),
  }),
  /** For the field of `picker`: places of the chosen options of a select, or the value of another field. */
  z.strictObject({
    t: z.literal('pick'),
    tab: z.int(),
    options: z.array(z.int().min(0).max(10_000)).max(1_000).optional(),
    value: z.string().max(64).optional(),
  }),
  /** For the file chooser of this tab; none: the person chose no file. */
  z.strictObject({
    t: z.literal('files'),
    tab: z.int(),
    files: z.array(z.strictObject({ name: z.string().min(1).max(255), base64: z.base64() })).max(LIVE_LIMITS.filesMax),
  }),
]);
export type InputMessage = z.infer<typeof inputMessage>;

/** Messages of a viewer to the runner; anything else closes its socket with `badMessage`. */
export const viewerMessage = z.discriminatedUnion('t', [
  /** The picture of this number was shown: another one may come. */
  z.strictObject({ t: z.literal('ack'), seq: z.int().min(0).max(0xffff_ffff) }),
  z.strictObject({ t: z.literal('pong') }),
  /** Asks for control; with `from` of the person who has it, by the viewer's id: no other one loses it by mistake. */
  z.strictObject({ t: z.literal('take'), from: short.optional(), reason: takeReason.optional() }),
  /** Gives control back, or withdraws the request for it. */
  z.strictObject({ t: z.literal('release') }),
  ...inputMessage.options,
]);
export type ViewerMessage = z.infer<typeof viewerMessage>;
