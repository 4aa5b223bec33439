import { X509Certificate } from 'node:crypto'

/** The names for which this server has a certificate. */
export class CertifiedNames {
  #certificate: X509Certificate | null = null
  readonly #isForBrowsers: boolean

  /** @param isForBrowsers whether an HTTP port uses the certificate */
  constructor(isForBrowsers: boolean) {
    this.#isForBrowsers = isForBrowsers
  }

  /** Browsers do not trust a self-signed certificate. */
  useCertificate({ cert, origin }: { cert: string; origin: string }): void {
    this.#certificate = this.#isForBrowsers && origin === 'configured' ? new X509Certificate(cert) : null
  }

  covers(host: string): boolean {
    return this.#certificate?.checkHost(host) !== undefined
  }
}
