import { MEBIBYTE, parseQuantity } from '../../contract/quantity.ts';

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
