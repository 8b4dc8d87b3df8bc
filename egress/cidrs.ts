import ipaddr from 'ipaddr.js';
import * as z from 'zod';
import { wordsSchema } from '../process/environment.ts';

/** Ranges of addresses, as a setting. */
export const cidrsSchema = () =>
  wordsSchema().pipe(
    z.array(
      z.string().refine(text => ipaddr.isValidCIDR(text), {
        error: 'must be CIDR ranges such as 10.0.0.0/8, joined by commas',
      }),
    ),
  );
