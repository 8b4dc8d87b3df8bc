import type { DownloadEvent } from './event-gate.ts';
import type { BrowserLimits } from './limits.ts';

type DownloadBounds = Pick<BrowserLimits, 'downloadBytes' | 'downloadsBytes' | 'downloadsMax'>;

export interface CancelledDownload {
  readonly guid: string;
  readonly url: string;
  readonly why: string;
  /** The lease has had what it may have: it downloads nothing more. */
  readonly last: boolean;
}

const MIB = 1024 * 1024;

/**
 * Judges every download of a lease, whatever started it, as Chromium reports its progress. Returns the download to
 * cancel, once.
 */
export function downloadJudge(limits: DownloadBounds): (event: DownloadEvent) => CancelledDownload | undefined {
  const urls = new Map<string, string>();
  const bytes = new Map<string, number>();
  let begun = 0;
  let keptBytes = 0;
  let over = false;
  const tooLarge = `a file may have at most ${limits.downloadBytes / MIB} MiB`;

  function tooMuch(expectedBytes: number): { why: string; last: boolean } | undefined {
    const { downloadBytes, downloadsBytes, downloadsMax } = limits;
    const open = [...bytes.values()].reduce((total, each) => total + each, 0);
    if (begun > downloadsMax) return { why: `this lease has had its ${downloadsMax} downloads`, last: true };
    if (expectedBytes > downloadBytes) return { why: tooLarge, last: false };
    if (keptBytes + open > downloadsBytes)
      return { why: `this lease has had its ${downloadsBytes / MIB} MiB of downloads`, last: true };
    return undefined;
  }

  return ({ method, params }) => {
    const { guid } = params;
    if (over) return undefined;
    if (method === 'Browser.downloadWillBegin') {
      begun += 1;
      urls.set(guid, params.url);
    }
    const url = urls.get(guid);
    if (url === undefined) return undefined;
    if (method === 'Browser.downloadProgress') {
      bytes.set(guid, params.receivedBytes);
      if (params.state !== 'inProgress') {
        urls.delete(guid);
        bytes.delete(guid);
        if (params.state !== 'completed') return undefined;
        // A file that the page itself made may be whole before its size is known.
        if (params.receivedBytes > limits.downloadBytes) return { guid, url, why: tooLarge, last: false };
        keptBytes += params.receivedBytes;
        return undefined;
      }
    }
    const expected = method === 'Browser.downloadProgress' ? Math.max(params.totalBytes, params.receivedBytes) : 0;
    const verdict = tooMuch(expected);
    if (verdict === undefined) return undefined;
    urls.delete(guid);
    bytes.delete(guid);
    over = verdict.last;
    return { guid, url, ...verdict };
  };
}
