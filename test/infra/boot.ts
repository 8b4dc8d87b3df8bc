/** User data as a node would read it. */
export interface Boot {
  readonly types: readonly string[];
  readonly kubelet: unknown;
  readonly script: string | undefined;
}

/** Splits MIME user data (RFC 2046): a blank line ends a part's headers. */
export function boot(base64: string): Boot {
  const text = Buffer.from(base64, 'base64').toString('utf8');
  const boundary = /^Content-Type: multipart\/mixed; boundary="(.+)"$/m.exec(text)?.[1];
  if (!boundary) throw new Error('no multipart user data');
  const parts = text
    .split(`--${boundary}`)
    .slice(1, -1)
    .map(part => {
      const [head = '', ...body] = part.trimStart().split('\n\n');
      return { type: head.replace(/^Content-Type: /, '').split(';')[0] ?? '', body: body.join('\n\n') };
    });
  const node = parts.find(({ type }) => type === 'application/node.eks.aws');
  if (!node) throw new Error('no part for nodeadm');
  const config = JSON.parse(node.body) as { kind: string; spec: { kubelet: { config: unknown } } };
  if (config.kind !== 'NodeConfig') throw new Error(`not for nodeadm: ${config.kind}`);
  return {
    types: parts.map(({ type }) => type),
    kubelet: config.spec.kubelet.config,
    script: parts.find(({ type }) => type === 'text/x-shellscript')?.body,
  };
}
