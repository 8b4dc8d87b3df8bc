import { DEVELOPER_WORDS, defineCase, type Step } from '../case.ts';

const evaluates = (script: string, shows: RegExp, target?: string): Step => ({
  tool: 'browser_evaluate',
  args: { function: script, ...(target && { target }) },
  shows,
  hides: DEVELOPER_WORDS,
});

// puppeteer/puppeteer#5086, microsoft/playwright-mcp#910
export default defineCase({
  title: 'a script is run in any form, and values that JSON has no form for are named',
  steps: () => [
    evaluates('() => new Map([["a", 1]])', /"Map\(1\)": \[\s*\[\s*"a",\s*1/),
    evaluates(
      '() => [new Set([7]), 12n, NaN, undefined, /x/g]',
      /"Set\(1\)"[\s\S]*"12n"[\s\S]*<NaN>[\s\S]*<undefined>[\s\S]*"\/x\/g"/,
    ),
    evaluates('() => { localStorage.k = "v"; return localStorage }', /"k": "v"/),
    evaluates('() => document.querySelectorAll("button")', /\[\s*"ref: <Node>"\s*\]/),
    evaluates('() => { const a = {}; a.self = a; return a }', /"self": "<circular>"/),
    evaluates('() => screen', /<Screen>[\s\S]*"width": \d+/),
    evaluates('() => 5n', /Result\n5n/),
    evaluates('return document.title', /Result\n"Case"/),
    evaluates('document.title;', /Result\n"Case"/),
    evaluates('const x = 1; x + 1', /Result\n2/),
    evaluates('const x = 1; ({ x })', /"x": 1/),
    evaluates('const title = await Promise.resolve(document.title); return title', /Result\n"Case"/),
    evaluates('await Promise.resolve(7)', /Result\n7/),
    evaluates('const title = await Promise.resolve(document.title);\ntitle;', /Result\n"Case"/),
    evaluates('() => Symbol("s")', /Result\n<Symbol\(s\)>/),
    evaluates('() => function named() {}', /Result\n<function named>/),
    evaluates('return element.localName', /Result\n"button"/, 'button'),
    evaluates('element => element.textContent', /Result\n"B"/, 'button'),
    evaluates(
      '() => document.nope.x',
      /^The script failed: TypeError: Cannot read properties of undefined \(reading 'x'\)$/m,
    ),
    evaluates('() => Promise.reject({ code: 5 })', /^The script failed: \{"code":5\}$/m),
    evaluates('throw { code: 6 }', /^The script failed: \{"code":6\}$/m),
    evaluates(
      '() => { throw new Error("outer", { cause: new TypeError("inner") }) }',
      /^The script failed: Error: outer \(cause: TypeError: inner\)$/m,
    ),
    evaluates('element => { throw "no " + element.localName }', /^The script failed: no button$/m, 'button'),
    evaluates('() => fails()', /^The script failed: RangeError: from the page at fails \(http:.*:\d+:\d+\)$/m),
    evaluates('() => {', /invalid_arguments.*does not parse.*\(\) => document\.title/),
  ],
});
