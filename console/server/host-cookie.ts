/** A cookie of the console that no script reads. */
export interface HostCookie {
  /** The `Set-Cookie` header that sets it; with zero seconds it is removed. */
  set(value: string, seconds: number): string;
  /** Its value in a `Cookie` header. */
  read(cookies: string | undefined): string | undefined;
}

/**
 * Over https its name begins with `__Host-`: another host of the domain could otherwise set one for all hosts, and sign a person in to
 * another account: <https://www.rfc-editor.org/rfc/rfc6265#section-8.6>. A port is no boundary for cookies, so a console of another stack on
 * this host has another name.
 */
export function hostCookie(url: URL, about: string, sameSite: 'Strict' | 'Lax'): HostCookie {
  // Safari keeps no Secure cookie of http://127.0.0.1, so that attribute is for https alone.
  const isSecure = url.protocol === 'https:';
  const name = `${isSecure ? '__Host-' : ''}omicron-console${about}-${url.port || url.protocol.slice(0, -1)}`;
  return {
    set: (value, seconds) =>
      `${name}=${value}; Path=/; HttpOnly; SameSite=${sameSite}; Max-Age=${seconds}${isSecure ? '; Secure' : ''}`,
    read: cookies =>
      cookies
        ?.split('; ')
        .find(each => each.startsWith(`${name}=`))
        ?.slice(name.length + 1),
  };
}
