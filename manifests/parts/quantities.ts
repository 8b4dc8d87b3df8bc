const MEBIBYTE = 1024 ** 2;

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 1024,
  Mi: MEBIBYTE,
  Gi: 1024 ** 3,
};

/** What a Kubernetes quantity amounts to: cores, bytes, or a count. */
export function amount(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (number === undefined || factor === undefined) throw new Error(`not a quantity: ${text}`);
  return Number(number) * factor;
}

const sum = (texts: readonly string[]): number => texts.reduce((total, text) => total + amount(text), 0);

/** So many times the sum of some amounts of CPU. Spelled as the API server spells it: another spelling is drift for ever. */
export function cpuTimes(times: number, texts: readonly string[]): string {
  const milli = Math.round(sum(texts) * times * 1000);
  return milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`;
}

/** So many times the sum of some amounts of memory or disk, in the largest unit that needs no fraction. */
export function bytesTimes(times: number, texts: readonly string[]): string {
  const mebibytes = Math.round((sum(texts) * times) / MEBIBYTE);
  return mebibytes % 1024 === 0 ? `${mebibytes / 1024}Gi` : `${mebibytes}Mi`;
}
