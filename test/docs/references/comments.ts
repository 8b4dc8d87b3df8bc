/** Comments of the lines `field: […` or `field: (…` of a source text, by the field's name. */
export function commentsOfFields(source: string): Map<string, string> {
  const field = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:\/\/.*\n\s*)?(\w+): ?[[(]/g;
  return new Map(
    [...source.matchAll(field)].map(([, comment = '', name = '']) => [
      name,
      comment
        .replaceAll(/\n\s*\*/g, '\n')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ]),
  );
}
