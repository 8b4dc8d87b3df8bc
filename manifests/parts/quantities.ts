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

/** So many times the sum of some amounts of CPU. */
export const cpuTimes = (times: number, texts: readonly string[]): string =>
  `${Math.round(texts.reduce((sum, text) => sum + amount(text), 0) * times * 1000)}m`;

/** So many times the sum of some amounts of memory or disk. */
export const bytesTimes = (times: number, texts: readonly string[]): string =>
  `${Math.round((texts.reduce((sum, text) => sum + amount(text), 0) * times) / MEBIBYTE)}Mi`;
