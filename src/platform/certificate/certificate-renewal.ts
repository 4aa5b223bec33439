import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Certificate } from './self-signed-certificate.ts'

interface RenewalServices {
  /** Reads the certificate that is on disk now. */
  load(): Promise<Certificate>
  /** Gives it to the open ports. */
  use(certificate: Certificate): void
  log: Log
}

/** Notices that the certificate on disk was renewed, so it needs no restart. */
export class CertificateRenewal {
  readonly #services: RenewalServices
  #chainInUse: string
  #problem = ''

  constructor(inUse: Certificate, services: RenewalServices) {
    this.#services = services
    this.#chainInUse = inUse.cert
  }

  /** Starts using a new certificate if there is one. One that cannot be used is logged once, and the current one stays. */
  async look(): Promise<void> {
    const found = await this.#services.load().catch((error: unknown) => this.#complain(messageOf(error)))
    if (!found) return
    this.#problem = ''
    if (found.cert === this.#chainInUse) return
    this.#services.use(found)
    this.#chainInUse = found.cert
    this.#services.log.info(
      { fingerprint: found.fingerprint, expiresAt: new Date(found.expiresAt).toISOString() },
      'the certificate was renewed',
    )
  }

  #complain(problem: string): void {
    if (problem !== this.#problem) this.#services.log.error({ problem }, 'the certificate on disk cannot be used; the one in use stays')
    this.#problem = problem
  }
}
