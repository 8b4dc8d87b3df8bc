/** Whether every store can keep the text: Postgres accepts no null byte and no malformed Unicode. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
