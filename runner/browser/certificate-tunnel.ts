import { createHash, type X509Certificate } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, getCACertificates, type SecureContext, TLSSocket } from 'node:tls';
import type { RefusalCode } from '../../contract/egress.ts';
import type { ClientCertificate } from '../../contract/secrets.ts';
import type { OwnCertificate } from './own-certificate.ts';

/** A tunnel to a site that has a client certificate, once the egress proxy has opened it. */
export interface CertificateTunnel {
  /** The browser's end. */
  readonly client: Socket;
  /** The site's end. */
  readonly site: Socket;
  readonly host: string;
  readonly certificate: ClientCertificate;
  readonly own: OwnCertificate;
  /** Authorities in PEM that this deployment trusts beside those that are known. */
  readonly authorities: readonly string[];
  /** Keys of sites (base64 SHA-256) that this deployment trusts. */
  readonly trustedSpki: ReadonlySet<string>;
  readonly onFailure: (code: RefusalCode & ('client_certificate_refused' | 'certificate_untrusted')) => void;
}

/** WebSockets and certificates that a site asks for late need HTTP/1.1: https://www.rfc-editor.org/rfc/rfc8740 */
const ALPN = ['http/1.1'];
/** The first byte of a TLS connection: a record of the handshake. */
const HANDSHAKE = 22;
/** A connection that a site ends in this time is not one that was idle. */
const AT_ONCE_MS = 1_000;

/**
 * Ends the browser's TLS here, and speaks TLS to the site with the client certificate. The browser never has the key. Anything that is not
 * TLS passes untouched.
 */
export function passWithCertificate(tunnel: CertificateTunnel): void {
  const { client, site } = tunnel;
  client.once('data', (first: Buffer) => {
    client.pause().unshift(first);
    if (first[0] === HANDSHAKE) passTls(tunnel);
    else join(client, site);
  });
}

function passTls(tunnel: CertificateTunnel): void {
  const { client, site, host, certificate, own, trustedSpki, onFailure } = tunnel;
  const end = () => {
    client.destroy();
    site.destroy();
  };
  const secureContext = contextOf(certificate, tunnel.authorities);
  if (secureContext === undefined) {
    onFailure('client_certificate_refused');
    end();
    return;
  }
  const upstream = connect({
    socket: site,
    secureContext,
    ALPNProtocols: ALPN,
    rejectUnauthorized: false, // judged below: the deployment may trust the key
    ...(isIP(host) === 0 ? { servername: host } : { host }),
  });
  // A site of TLS 1.3 refuses a certificate after the handshake; some servers close the connection in place of an alert.
  let connectedMs = Number.POSITIVE_INFINITY;
  let [isAsked, isAnswered] = [false, false];
  const endsEarly = () => !isAnswered && (isAsked || Date.now() - connectedMs < AT_ONCE_MS);
  const refusedIf = (isRefusal: boolean) => {
    if (isRefusal) onFailure('client_certificate_refused');
  };
  upstream.once('data', () => {
    isAnswered = true;
  });
  upstream.once('end', () => refusedIf(endsEarly()));
  upstream.on('error', error => {
    refusedIf(('code' in error && /_ALERT_/.test(String(error.code))) || endsEarly());
    end();
  });
  client.once('close', () => site.destroy());
  upstream.once('secureConnect', () => {
    connectedMs = Date.now();
    if (!upstream.authorized && !trustedSpki.has(spkiOf(upstream.getPeerX509Certificate()))) {
      onFailure('certificate_untrusted');
      end();
      return;
    }
    const browser = new TLSSocket(client, { isServer: true, secureContext: own.context, ALPNProtocols: ALPN });
    browser.on('error', end);
    browser.once('data', () => {
      isAsked = true;
    });
    join(browser, upstream);
  });
}

function join(one: Socket, other: Socket): void {
  one.once('close', () => other.destroySoon());
  other.once('close', () => one.destroySoon());
  one.pipe(other);
  other.pipe(one);
}

const contexts = new WeakMap<ClientCertificate, SecureContext>();

/** Undefined: TLS does not take it. */
function contextOf(certificate: ClientCertificate, authorities: readonly string[]): SecureContext | undefined {
  const known = contexts.get(certificate);
  if (known !== undefined) return known;
  const { certificate: cert, key, pkcs12, passphrase } = certificate;
  try {
    const context = createSecureContext({
      ...(pkcs12 === undefined ? { cert, key } : { pfx: Buffer.from(pkcs12, 'base64') }),
      passphrase,
      ca: [...getCACertificates('default'), ...getCACertificates('system'), ...authorities],
    });
    contexts.set(certificate, context);
    return context;
  } catch {
    return undefined; // its message may hold the key
  }
}

/** The site has shown that it has the key of this certificate; those that it sends along prove nothing. */
const spkiOf = (own: X509Certificate | undefined): string =>
  own === undefined
    ? ''
    : createHash('sha256')
        .update(own.publicKey.export({ type: 'spki', format: 'der' }))
        .digest('base64');
