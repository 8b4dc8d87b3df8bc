/** The store of audit files. */
export interface AuditFiles {
  /** Resolves when the file is safe. A key has one content: repeating it changes nothing. Throws where the store did not take it; try again. */
  put(key: string, body: string): Promise<void>;
}
