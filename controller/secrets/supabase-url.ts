import { ENV } from '../../contract/names.ts';
import { isLoopback } from '../loopback.ts';

/** The URL of a Supabase project. Throws an Error, without the URL, for one that would send the service role key in clear. */
export function checkedSupabaseUrl(text: string, tls: 'verify' | 'off' = 'verify'): URL {
  const url = new URL(text);
  if (url.protocol === 'https:' || isLoopback(url.hostname.replace(/^\[(.*)\]$/, '$1')) || tls === 'off') return url;
  throw new Error(
    `must begin with https://, since http sends the service role key in clear; where the network itself is trusted, set ${ENV.supabaseTls}=off`,
  );
}
