/**
 * A picture of the live view as one binary message: 20 bytes, little endian, and then the JPEG.
 * u8 version, u8 kind, u16 tab, u32 number, f64 time in ms since 1970, u16 width and u16 height of the tab in CSS pixels.
 */
export interface LivePicture {
  /** `screenshot`: taken by itself, while a document is guarded into which a credential was filled. */
  readonly kind: 'screencast' | 'screenshot';
  readonly tab: number;
  /** Rises with each picture; `ack` repeats it. */
  readonly seq: number;
  /** When the page looked like this, in ms since 1970 by the runner's clock. */
  readonly atMs: number;
  /** Size of the tab in CSS pixels: input is in these, whatever the size of the picture. */
  readonly cssWidth: number;
  readonly cssHeight: number;
  readonly jpeg: Uint8Array;
}

const VERSION = 1;
const HEADER_BYTES = 20;
const KINDS = ['screencast', 'screenshot'] as const;

export function encodePicture({ kind, tab, seq, atMs, cssWidth, cssHeight, jpeg }: LivePicture): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + jpeg.length);
  const header = new DataView(bytes.buffer);
  header.setUint8(0, VERSION);
  header.setUint8(1, KINDS.indexOf(kind));
  header.setUint16(2, tab, true);
  header.setUint32(4, seq, true);
  header.setFloat64(8, atMs, true);
  header.setUint16(16, cssWidth, true);
  header.setUint16(18, cssHeight, true);
  bytes.set(jpeg, HEADER_BYTES);
  return bytes;
}

/** Undefined: not a picture of this version. */
export function decodePicture(message: ArrayBuffer | Uint8Array): LivePicture | undefined {
  const bytes = message instanceof Uint8Array ? message : new Uint8Array(message);
  if (bytes.length < HEADER_BYTES) return undefined;
  const header = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
  const kind = KINDS[header.getUint8(1)];
  if (header.getUint8(0) !== VERSION || kind === undefined) return undefined;
  return {
    kind,
    tab: header.getUint16(2, true),
    seq: header.getUint32(4, true),
    atMs: header.getFloat64(8, true),
    cssWidth: header.getUint16(16, true),
    cssHeight: header.getUint16(18, true),
    jpeg: bytes.subarray(HEADER_BYTES),
  };
}

/** A picture by HTTP, beside its JPEG and its number as the ETag: its tab, and that tab's size in CSS pixels. */
export const PICTURE_HEADERS = { tab: 'x-omicron-tab', width: 'x-omicron-width', height: 'x-omicron-height' } as const;
