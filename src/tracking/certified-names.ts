import { X509Certificate } from 'node:crypto'

/** The names that this server has a certificate for. */
export class CertifiedNames {
  #certificate: X509Certificate | null = null
  readonly #isForBrowsers: boolean

  /** @param isForBrowsers whether an HTTP port has the certificate */
  constructor(isForBrowsers: boolean) {
    this.#isForBrowsers = isForBrowsers
  }

  /** Browsers do not trust a certificate that the server made for itself. */
  useCertificate({ cert, origin }: { cert: string; origin: string }): void {
    this.#certificate = this.#isForBrowsers && origin === 'configured' ? new X509Certificate(cert) : null
  }

  covers(host: string): boolean {
    return this.#certificate?.checkHost(host) !== undefined
  }
}
