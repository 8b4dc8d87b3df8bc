/**
 * Whether two processes of one user may listen on one port, so that one follows the other without a gap. Node.js offers it where the
 * system spreads connections over both: <https://nodejs.org/docs/latest-v24.x/api/net.html#serverlistenoptions-callback>; not on macOS.
 */
export const maySharePort: boolean = process.platform === 'linux';
