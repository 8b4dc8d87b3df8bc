/**
 * How Pulumi writes values that JSON cannot say: an object with this key, whose value names the kind.
 * https://github.com/pulumi/pulumi/blob/master/sdk/nodejs/runtime/rpc.ts
 */
const SIGNATURE = '4dabf18193072939515e22adb298388d';
const SECRET = '1b47061264138c4ac30d75fd1eb44270';
const OUTPUT = 'd0e6a833031e9bbcd3f4e8bde6ca49a4';
const RESOURCE = '5cf8f73096256a8f31e491e813e4eb8e';
/** How the engine marks a property that is known only after the update. */
export const UNKNOWN = '04da6b54-80e4-46f7-96ec-b56ff0331ba9';

/** In place of a value that a preview cannot know yet. */
export const UNKNOWN_YET = '<unknown>';

type Encoded = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Encoded =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isSecret = (value: unknown): boolean =>
  isObject(value) && (value[SIGNATURE] === SECRET || (value[SIGNATURE] === OUTPUT && value.secret === true));

/** Decodes a value: secrets and outputs are unwrapped, a reference to a resource becomes its URN. */
export function plain(value: unknown): unknown {
  if (value === UNKNOWN) return UNKNOWN_YET;
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  switch (value[SIGNATURE]) {
    case SECRET:
      return plain(value.value);
    case OUTPUT:
      return 'value' in value ? plain(value.value) : UNKNOWN_YET;
    case RESOURCE:
      return value.urn;
    default:
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
  }
}

/** Encodes what a preview left unknown. */
export const unknowing = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value).replaceAll(`"${UNKNOWN_YET}"`, `"${UNKNOWN}"`));
