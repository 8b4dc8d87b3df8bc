/** A cell of a Markdown table: one line, in which a bar is no border. */
const cell = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim();

/** A Markdown table. */
export const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [heads, heads.map(() => '---'), ...rows].map(cells => `| ${cells.map(cell).join(' | ')} |`).join('\n');

export const code = (text: string): string => `\`${text}\``;

/** A page: its title, a sentence or two, and its sections. The first line keeps people from editing it. */
export const page = (script: string, title: string, intro: string, sections: readonly (readonly string[])[]): string =>
  [
    `<!-- Written by \`npm run docs\` from ${script}: change it there. -->`,
    `# ${title}`,
    intro,
    ...sections.map(([heading = '', ...parts]) => [`## ${heading}`, ...parts].join('\n\n')),
  ]
    .join('\n\n')
    .concat('\n');
