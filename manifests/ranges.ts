/**
 * IPv4 ranges that are not the internet. The egress proxy classifies every address that it dials in more detail; this is
 * the second line of defence, should the proxy be compromised. https://www.iana.org/assignments/iana-ipv4-special-registry/
 */
export const NOT_PUBLIC = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const;
