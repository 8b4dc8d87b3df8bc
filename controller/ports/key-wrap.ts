/**
 * Encrypts the data keys of users under a key of the deployment. A wrapped key opens for the user that it was wrapped for and
 * no other. Throws `profile_unavailable` when it cannot be opened, or the key service cannot be reached.
 */
export interface KeyWrap {
  wrap(key: Buffer, userId: string): Promise<string>;
  unwrap(wrapped: string, userId: string): Promise<Buffer>;
}
