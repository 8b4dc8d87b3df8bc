import { isSiteFailure, REFUSALS } from '../../../contract/egress.ts';
import { API_PROBLEMS, CLIENT_PROBLEMS, type ProblemCode } from '../../../contract/problem.ts';
import { PROBLEM_MEANINGS } from '../../../contract/problem-meanings.ts';
import { TOOL_CODES } from '../../../contract/tool-codes.ts';
import { code, page, table } from './table.ts';

type Row = [code: string, problem: { status: number; title: string }];

const rows = (problems: readonly Row[]): string[][] =>
  problems.map(([name, { status, title }]) => [
    `<a id="${name}"></a>${code(name)}`, // the address of a problem's `type`
    String(status),
    title,
    PROBLEM_MEANINGS[name as ProblemCode],
  ]);

/** docs/reference/errors.md. */
export const errorsPage = (): string =>
  page(
    '`contract/`',
    'Error codes',
    'A code never changes its meaning: programs decide by it, people read the message. Codes of the API are in `code` of a problem document (RFC 9457) and in `OmicronError.code` of the SDKs; codes of tools in the result of a call.',
    [
      [
        'API and SDKs',
        'Each is `application/problem+json` with `type`, `title`, `status`, `code` and `detail`; `type` is the address of the code on this page, and `retry_after_seconds` says where a later call may succeed.',
        table(['code', 'status', 'title', 'when, and what to do'], rows(Object.entries(API_PROBLEMS))),
      ],
      [
        'SDK and command alone',
        'No server answers these: they are raised in the process of the client.',
        table(['code', 'like status', 'title', 'when, and what to do'], rows(Object.entries(CLIENT_PROBLEMS))),
      ],
      [
        'Tools',
        'A call that is not carried out answers `isError` with the code in `error.code` and in `_meta["omicron.dev/code"]` ([refusals](../tools.md#refusals)). A tool that passes on a call of the API answers a code of the API.',
        table(
          ['code', 'when'],
          Object.entries(TOOL_CODES).map(([name, when]) => [code(name), when]),
        ),
      ],
      [
        'Egress proxy',
        'The header `x-omicron-refusal` of an answer of the proxy itself, and the code of a tool that asked for the page; a site that failed is `action_failed` there. Denials are in the timeline (`egress.denied`).',
        table(
          ['code', 'status', 'when', 'who refused'],
          Object.entries(REFUSALS).map(([name, { status, sentence }]) => [
            code(name),
            String(status),
            sentence,
            isSiteFailure(name) ? 'the site, or its name' : 'the proxy',
          ]),
        ),
      ],
    ],
  );
