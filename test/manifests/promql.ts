/** A series that a query reads, and the labels by which it selects. */
export interface Selector {
  readonly name: string;
  readonly labels: readonly string[];
}

const KEYWORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'by', 'without', 'on', 'ignoring']);

/** Selectors of a query, and the labels by which it groups. Syntax is promtool's to check. */
export function readQuery(expr: string): { selectors: Selector[]; grouping: string[]; counted: string[] } {
  const bare = expr.replaceAll(/"[^"]*"/g, '""').replaceAll(/\[[^\]]*\]/g, '');
  const grouping: string[] = [];
  const ungrouped = bare.replaceAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g, (_, labels: string) => {
    grouping.push(...labels.split(',').map(label => label.trim()));
    return '';
  });
  const counted = [...ungrouped.matchAll(/\b(?:rate|irate|increase)\(([\w:]+)/g)].map(([, name = '']) => name);
  const selectors = [...ungrouped.matchAll(/(?<![\w$:])([a-zA-Z_][\w:]*)(?:\{([^}]*)\})?(?!\s*\(|[\w:])/g)]
    .filter(([, name = '']) => !KEYWORDS.has(name))
    .map(([, name = '', matchers = '']) => ({
      name,
      labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }));
  return { selectors, grouping, counted };
}
