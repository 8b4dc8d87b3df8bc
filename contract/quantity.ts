export const MEBIBYTE = 1024 ** 2;
export const GIBIBYTE = 1024 ** 3;

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 1024,
  Mi: MEBIBYTE,
  Gi: GIBIBYTE,
};

/** The value of a Kubernetes quantity: cores, bytes, or a count. */
export function parseQuantity(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (number === undefined || factor === undefined) throw new Error(`not a quantity: ${text}`);
  return Number(number) * factor;
}
