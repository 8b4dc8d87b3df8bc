/** Steps of the loops that look at time. Each is harmless when repeated or run on several replicas. */
export interface Upkeep {
  /** Makes the global cap `most`. */
  setCapacity(most: number): Promise<void>;
  /** Ends leases whose time is over; answers their session ids. */
  expire(most: number): Promise<string[]>;
  /** Starts older than the guard become errors; answers their session ids. */
  failStuckStarts(most: number): Promise<string[]>;
  /** Ends every lease of this provider and drains its runners: the local stack stops. */
  endAll(provider: string): Promise<void>;
  /** Stored recordings older than this. */
  expiredArtifacts(days: number, most: number): Promise<{ id: string; uri: string }[]>;
  markExpired(artifactId: string): Promise<void>;
}
