/** Number of warm runners of the controller at `url`, from its metrics. */
export async function countWarmRunners(url: string): Promise<number> {
  // a kept connection may lead to a replica that has just ended
  const response = await fetch(`${url}/metrics`, { headers: { connection: 'close' } });
  const [, count] = /^omicron_runners\{state="warm"\} (\d+)$/m.exec(await response.text()) ?? [];
  if (count === undefined) throw new Error(`the metrics of ${url} do not say how many runners are warm`);
  return Number(count);
}
