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

/** The value of a Kubernetes quantity: cores, bytes, or a count. */
export function parseQuantity(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (number === undefined || factor === undefined) throw new Error(`not a quantity: ${text}`);
  return Number(number) * factor;
}

const sumQuantities = (texts: readonly string[]): number =>
  texts.reduce((total, text) => total + parseQuantity(text), 0);

/**
 * The sum of CPU amounts, multiplied. Spelled like the API server does, since Argo CD sees another spelling as drift.
 */
export function cpuTimes(times: number, texts: readonly string[]): string {
  const milli = Math.round(sumQuantities(texts) * times * 1000);
  return milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`;
}

/** The sum of amounts of memory or disk, multiplied, in the largest unit that needs no fraction. */
export function bytesTimes(times: number, texts: readonly string[]): string {
  const mebibytes = Math.round((sumQuantities(texts) * times) / MEBIBYTE);
  return mebibytes % 1024 === 0 ? `${mebibytes / 1024}Gi` : `${mebibytes}Mi`;
}
