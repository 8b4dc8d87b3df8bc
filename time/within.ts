/** The browser's answer; `otherwise` where it fails, or takes longer: a page that hangs, or shows a dialog, answers nothing at all. */
export function within<T>(answer: Promise<T>, ms: number): Promise<T | undefined>;
export function within<T, Other>(answer: Promise<T>, ms: number, otherwise: Other): Promise<T | Other>;
export async function within<T, Other>(
  answer: Promise<T>,
  ms: number,
  otherwise?: Other,
): Promise<T | Other | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<Other | undefined>();
  const timer = setTimeout(resolve, ms, otherwise).unref();
  return Promise.race([answer.catch(() => otherwise), late]).finally(() => clearTimeout(timer));
}
