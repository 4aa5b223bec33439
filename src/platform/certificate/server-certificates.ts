import { X509Certificate } from 'node:crypto'
import type { SecureContext } from 'node:tls'
import type { AcmeCertificates } from './acme-certificates.ts'
import type { TicketKeys } from './ticket-keys.ts'
import type { Certificate } from './self-signed-certificate.ts'

/** What a port with TLS needs. */
export interface TlsFiles {
  /** PEM, both. For clients that ask for no name, or for one that we have no certificate for. */
  cert: string
  key: string
  /** The certificate for a name that a client asks for (SNI); undefined: the one above. */
  contextFor?: ((name: string) => SecureContext | undefined) | undefined
  /** Without them, tickets are good until the next start or certificate. */
  tickets?: Pick<TicketKeys, 'prepare'> | undefined
}

interface Sources {
  /** From the settings, or self-signed. */
  own: Certificate
  /** Null if it is switched off. */
  acme: Pick<AcmeCertificates, 'certificateFor' | 'contextFor'> | null
  hostname: string
  tickets?: TicketKeys
}

/** Which certificate a client gets: the configured one for the names that it covers, else one from the authority. */
export class ServerCertificates {
  readonly #acme: Sources['acme']
  readonly #hostname: string
  readonly #tickets: TicketKeys | undefined
  #own: Certificate
  #parsed: X509Certificate

  constructor({ own, acme, hostname, tickets }: Sources) {
    this.#tickets = tickets
    this.#acme = acme
    this.#hostname = hostname
    this.#own = own
    this.#parsed = new X509Certificate(own.cert)
  }

  /** The configured certificate, or the self-signed one, was replaced. */
  useOwn(own: Certificate): void {
    this.#own = own
    this.#parsed = new X509Certificate(own.cert)
  }

  get files(): TlsFiles {
    const { cert, key } = this.#fallback
    return { cert, key, contextFor: (name) => this.#contextFor(name.toLowerCase()), tickets: this.#tickets }
  }

  /** The certificate for everything that no other is for. */
  get #fallback(): { cert: string; key: string; expiresAt: number } {
    return (this.#own.origin === 'configured' ? null : this.#acme?.certificateFor(this.#hostname)) ?? this.#own
  }

  #contextFor(name: string): SecureContext | undefined {
    const context = this.ownCovers(name) ? undefined : this.#acme?.contextFor(name)
    if (context) this.#tickets?.prepare(context)
    return context
  }

  /** Whether the configured certificate is for this name. */
  ownCovers(name: string): boolean {
    return this.#own.origin === 'configured' && this.#parsed.checkHost(name) !== undefined
  }

  /** Whether browsers find a certificate here that is valid for the name. They do not trust a self-signed one. */
  covers(name: string): boolean {
    return this.ownCovers(name) || Boolean(this.#acme?.certificateFor(name))
  }

  /** When the certificate that clients get for this name expires; epoch, ms. */
  expiryFor(name: string): number {
    const issued = this.ownCovers(name) ? null : this.#acme?.certificateFor(name)
    return (issued ?? this.#fallback).expiresAt
  }
}
