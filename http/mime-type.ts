import { lookup } from 'mime-types';

/** The media type that a file's name stands for, e.g. `application/pdf`; bytes where it stands for none. */
export const mimeTypeOf = (name: string): string => lookup(name) || 'application/octet-stream';
