import mime from 'mime';

/** The media type that a file's name stands for, e.g. `application/pdf`; bytes where it stands for none. */
export const mimeTypeOf = (name: string): string => mime.getType(name) ?? 'application/octet-stream';
