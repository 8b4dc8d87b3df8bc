import type { LivePicture } from '../../../contract/live-picture.ts';

/** Shows pictures on a canvas, none over a newer one. */
export interface Painter {
  paint(picture: LivePicture): Promise<void>;
  /** The picture that is shown: input is in the CSS pixels of its tab. */
  shown(): LivePicture | undefined;
}

export function painter(canvas: () => HTMLCanvasElement | null): Painter {
  let shown: LivePicture | undefined;
  let newest: LivePicture | undefined;
  return {
    shown: () => shown,
    async paint(picture) {
      newest = picture;
      // The bytes follow a header in the buffer of their message, which is not a shared one.
      const bitmap = await createImageBitmap(new Blob([picture.jpeg as Uint8Array<ArrayBuffer>])).catch(
        () => undefined,
      );
      const target = canvas();
      if (bitmap !== undefined && target !== null && picture === newest) {
        if (target.width !== bitmap.width || target.height !== bitmap.height)
          Object.assign(target, { width: bitmap.width, height: bitmap.height });
        target.getContext('2d')?.drawImage(bitmap, 0, 0);
        shown = picture;
      }
      bitmap?.close();
    },
  };
}
