import { conditionText, isAlways, type Presence, valueAt } from './conditions.ts';
import type { SymbolOf } from './symbols.ts';
import type { Entry, Item, Sum, Template } from './template.ts';

/** Addresses of NOT_PUBLIC, for the templates: they are excepted from the internet already. */
export const NOT_PUBLIC_PATTERN =
  '^(0|10|127|22[4-9]|23[0-9]|24[0-9]|25[0-5])\\.|^100\\.(6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])\\.|^169\\.254\\.|' +
  '^172\\.(1[6-9]|2[0-9]|3[01])\\.|^192\\.0\\.0\\.|^192\\.168\\.|^198\\.1[89]\\.';

/** Definitions that the templates include, beside the settings of each program. */
export const HELPERS = `{{- /* Pods that the quota admits: the capacity and a tenth of it. */ -}}
{{- define "omicron.pods" -}}
{{- $capacity := int .Values.limits.capacity -}}
{{- add $capacity (div (add $capacity 9) 10) -}}
{{- end -}}

{{- /* The sum of some quantities of cores, times a number, spelled as the API server spells it. */ -}}
{{- define "omicron.cpu" -}}
{{- $milli := 0 -}}
{{- range .of -}}
{{- if hasSuffix "m" . -}}
{{- $milli = add $milli (trimSuffix "m" . | int) -}}
{{- else -}}
{{- $milli = add $milli (mul 1000 (int .)) -}}
{{- end -}}
{{- end -}}
{{- $all := mul $milli .times -}}
{{- if eq (mod $all 1000) 0 -}}{{- div $all 1000 -}}{{- else -}}{{- printf "%dm" $all -}}{{- end -}}
{{- end -}}

{{- /* The same for amounts in Mi or Gi. */ -}}
{{- define "omicron.bytes" -}}
{{- $mebi := 0 -}}
{{- range .of -}}
{{- if hasSuffix "Gi" . -}}
{{- $mebi = add $mebi (mul 1024 (trimSuffix "Gi" . | int)) -}}
{{- else -}}
{{- $mebi = add $mebi (trimSuffix "Mi" . | int) -}}
{{- end -}}
{{- end -}}
{{- $all := mul $mebi .times -}}
{{- if eq (mod $all 1024) 0 -}}{{- printf "%dGi" (div $all 1024) -}}{{- else -}}{{- printf "%dMi" $all -}}{{- end -}}
{{- end -}}

{{- /* Changes with the settings of a program, given as YAML. */ -}}
{{- define "omicron.settingsDigest" -}}
{{- $lines := "" -}}
{{- range $name, $value := fromYaml . -}}
{{- $lines = printf "%s%s=%s\\n" $lines $name $value -}}
{{- end -}}
{{- sha256sum $lines | trunc 16 -}}
{{- end -}}
`;

/** The settings of a program, as a definition: its ConfigMap has them, its Deployment a digest of them. */
export const settingsDefinition = (program: string, data: Template): string =>
  [
    `{{- define "omicron.settings.${program}" -}}`,
    ...emit(data, ''),
    `{{- range $name, $value := ${valueAt(`settings.${program}`)} }}`,
    '{{ $name | toJson }}: {{ $value | toJson }}',
    '{{- end }}',
    '{{- end -}}',
    '',
  ].join('\n');

/** The text of a template file. */
export function templateFile(when: Presence, template: Template): string {
  const lines = emit(template, '');
  return `${guarded(when, lines, '').join('\n')}\n`;
}

/** Lines of YAML, in block style with every text quoted. `each` is the list whose value is at hand. */
function emit(of: Template, indent: string, each?: SymbolOf): string[] {
  if (isScalar(of)) return [indent + scalar(of, each)];
  if (of.is === 'map') return of.entries.flatMap(entry => emitEntry(entry, indent, each));
  if (of.is === 'list') return of.items.flatMap(item => emitItem(item, indent));
  if (of.is === 'settings') return [`{{- include "omicron.settings.${of.program}" $ | nindent ${indent.length} }}`];
  if (of.is !== 'choice') throw new Error(`a ${of.is} is a scalar`);
  const cases = of.cases.flatMap(({ when, of: value }, at) => {
    const word = at === 0 ? 'if' : 'else if';
    return [
      `${indent}{{- ${isAlways(when) ? 'else' : `${word} ${conditionText(when)}`} }}`,
      ...emit(value, indent, each),
    ];
  });
  return [...cases, `${indent}{{- end }}`];
}

function emitEntry({ when, key, value, each: entries }: Entry, indent: string, each?: SymbolOf): string[] {
  if (entries)
    return guarded(
      when,
      [
        `${indent}{{- range $key, $value := ${valueAt(entries.path)} }}`,
        `${indent}{{ $key | toJson }}: {{ $value | toJson }}`,
        `${indent}{{- end }}`,
      ],
      indent,
    );
  const name = `${indent}${keyText(key)}:`;
  const lines = isScalar(value) ? [`${name} ${scalar(value, each)}`] : [name, ...emit(value, `${indent}  `, each)];
  return guarded(when, lines, indent);
}

function emitItem({ when, of, each }: Item, indent: string): string[] {
  const lines = isScalar(of) ? [`${indent}- ${scalar(of, each)}`] : [`${indent}-`, ...emit(of, `${indent}  `, each)];
  if (!each) return guarded(when, lines, indent);
  const [start, end] =
    each.path === 'ownCidrs'
      ? [`${indent}{{- if not (regexMatch ${JSON.stringify(NOT_PUBLIC_PATTERN)} .) }}`, `${indent}{{- end }}`]
      : [];
  const inner = start && end ? [start, ...lines, end] : lines;
  return guarded(when, [`${indent}{{- range ${valueAt(each.path)} }}`, ...inner, `${indent}{{- end }}`], indent);
}

const guarded = (when: Presence, lines: string[], indent: string): string[] =>
  isAlways(when) ? lines : [`${indent}{{- if ${conditionText(when)} }}`, ...lines, `${indent}{{- end }}`];

const isScalar = (of: Template): boolean =>
  ['constant', 'symbol', 'text', 'sum', 'settings-digest'].includes(of.is) ||
  (of.is === 'map' && of.entries.length === 0) ||
  (of.is === 'list' && of.items.length === 0);

function scalar(of: Template, each?: SymbolOf): string {
  switch (of.is) {
    case 'constant':
      return escapeText(JSON.stringify(of.value));
    case 'map':
      return '{}';
    case 'list':
      return '[]';
    case 'sum':
      return sumText(of);
    case 'settings-digest':
      return `"{{ include "omicron.settingsDigest" (include "omicron.settings.${of.program}" $) }}"`;
    case 'symbol':
      if (of.symbol.kind !== 'number') return `{{ ${expression(of.symbol, each)} | toJson }}`;
      return of.quoted ? `"${piece(of.symbol)}"` : piece(of.symbol);
    case 'text':
      return `"${of.parts
        .map(part =>
          typeof part === 'string' || !('when' in part)
            ? piece(part)
            : `{{ if ${conditionText(part.when)} }}${part.parts.map(piece).join('')}{{ end }}`,
        )
        .join('')}"`;
    default:
      throw new Error(`a ${of.is} is no scalar`);
  }
}

const piece = (part: string | SymbolOf): string => {
  if (typeof part === 'string') return escapeText(JSON.stringify(part).slice(1, -1));
  return `{{ ${expression(part)}${part.kind === 'number' ? ' | int' : ''} }}`;
};

/** Texts of others have braces too: Prometheus and Grafana fill in labels. */
const escapeText = (text: string): string => text.replaceAll('{{', '{{ "{{" }}');

function expression(symbol: SymbolOf, each?: SymbolOf): string {
  const { path, kind, as } = symbol;
  if (symbol === each) return '.';
  if (kind === 'list' || kind === 'joined') return `(join "," ${valueAt(path)})`;
  if (as === 'hostname') return `(urlParse ${valueAt(path)}).hostname`;
  if (as === 'repository') return `(trimSuffix ".git" ${valueAt(path)})`;
  return valueAt(path);
}

function sumText({ unit, times, of, plus }: Sum): string {
  const pods = '(include "omicron.pods" $ | int)';
  if (unit === 'count') return `"{{ add ${pods} ${plus ?? 0} }}"`;
  const number = times === 'pods' ? pods : '1';
  return `"{{ include "omicron.${unit}" (dict "times" ${number} "of" (list ${of.map(valueAt).join(' ')})) }}"`;
}

/** Plain where YAML reads it as a text in any case. */
const keyText = (key: string): string =>
  /^[A-Za-z][\w./-]+$/.test(key) && !/^(?:true|false|yes|no|on|off|null)$/i.test(key)
    ? key
    : escapeText(JSON.stringify(key));
