import type { FastifyReply } from 'fastify';
import type { FileAnswer } from '../ports/runner-files.ts';

/** Sends a content, or nothing where it has no such part. */
export const sendContent = (reply: FastifyReply, { status, headers, stream }: FileAnswer): FastifyReply =>
  reply
    .status(status)
    .headers(headers)
    .send(status === 416 ? null : stream);
