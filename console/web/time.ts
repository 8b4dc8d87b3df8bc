const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export const timeOfDay = (iso: string): string => clock.format(new Date(iso));
export const dayAndTime = (iso: string): string => day.format(new Date(iso));

/** `in 4 min`, `12 s ago`. */
export function formatRelative(iso: string, nowMs: number): string {
  const seconds = Math.round((new Date(iso).getTime() - nowMs) / 1_000);
  const size = Math.abs(seconds);
  const [count, unit] =
    size < 90
      ? [size, 's']
      : size < 5_400
        ? [Math.round(size / 60), 'min']
        : size < 129_600
          ? [Math.round(size / 3_600), 'h']
          : [Math.round(size / 86_400), 'days'];
  return seconds >= 0 ? `in ${count} ${unit}` : `${count} ${unit} ago`;
}

/** `3.4 MB`. */
export const formatMegabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;
