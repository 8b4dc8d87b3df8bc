/** Whether every store can keep the text: Postgres holds no null byte and no broken Unicode. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
