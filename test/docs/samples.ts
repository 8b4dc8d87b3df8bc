/** A fenced block of a page. */
export interface Sample {
  /** Page and line. */
  readonly place: string;
  readonly language: string;
  /** `run`: test/samples/ runs it. `shown`: it cannot be run as it is, such as a part of a configuration. */
  readonly mark: string;
  readonly text: string;
}

/** The fenced blocks of a page, without diagrams. */
export function samplesOf(page: string, text: string): Sample[] {
  return [...text.matchAll(/^```(\w*)(?: (\w+))?\n([\s\S]*?)^```$/gm)]
    .map(([, language = '', mark = '', body = ''], index, all) => {
      const line = text.slice(0, all[index]?.index ?? 0).split('\n').length;
      return { place: `${page}:${line}`, language, mark, text: body };
    })
    .filter(({ language }) => language !== 'mermaid');
}

/** Commands of `omicron-browser` on a page, without prompts and comments: in code of its own, or in a line of a block. */
export const commandsOf = (text: string): string[] =>
  [...text.matchAll(/npx --no-install omicron-browser ([^`\n|]*)/g)].map(([, command = '']) =>
    command
      .replace(/\s+#.*$/, '')
      .replace(/[,;:.)]+$/, '')
      .trim(),
  );
