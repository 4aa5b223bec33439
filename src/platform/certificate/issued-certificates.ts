import { X509Certificate, createPrivateKey } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { messageOf } from '../errors.ts'
import { isoTime } from '../iso-time.ts'
import type { Log } from '../log.ts'
import type { ChangeFollower, Changes } from '../store/changes.ts'
import type { Database } from '../store/database.ts'
import {
  certificateRows,
  forgetCertificate,
  issuedId,
  keepCertificate,
  openRow,
  type CertificatePair,
  type CertificateRow,
} from './certificate-rows.ts'
import type { Sealer } from './sealer.ts'
import { sessionIdContext } from './ticket-keys.ts'

/** A certificate that an authority issued to us. */
export interface IssuedCertificate extends CertificatePair {
  /** Epoch, ms. */
  validFrom: number
  expiresAt: number
  /** SHA-256, as clients show it. */
  fingerprint: string
}

interface Kept extends IssuedCertificate {
  /** Made when the first client asks for it. */
  context: SecureContext | null
}

interface IssuedServices {
  db: Pick<Database, 'read' | 'write'>
  changes: Changes
  secrets: Sealer
  log: Log
}

const kind = 'certificate'
const cannotBeUsed = 'a stored certificate cannot be used, and is ordered again'

/** The certificates of one authority by name: in the database, and in memory. */
export class IssuedCertificates implements ChangeFollower {
  readonly #services: IssuedServices
  readonly #authority: string
  readonly #byName = new Map<string, Kept>()
  /** Called when there is a new certificate, made here or at another node. */
  onIssued: () => void = () => {}

  constructor(services: IssuedServices, authority: string) {
    this.#services = services
    this.#authority = authority
    services.changes.on(kind, this)
  }

  /** Never fails because of a row: a certificate that cannot be used is ordered again. */
  async load(): Promise<void> {
    const rows = await certificateRows(this.#services.db, { authority: this.#authority })
    this.#byName.clear()
    for (const row of rows) this.#take(row)
    this.onIssued()
  }

  async reload(id: string): Promise<void> {
    const [row] = await certificateRows(this.#services.db, { authority: this.#authority, id })
    if (row) this.#take(row)
    else for (const name of this.names) if (issuedId(this.#authority, name) === id) this.#byName.delete(name)
    if (row) this.onIssued()
  }

  #take(row: CertificateRow): void {
    const { name } = row
    try {
      const { cert, key } = openRow(row, this.#services.secrets)
      this.#byName.set(name, { ...certificateFor(name, cert, key), context: null })
    } catch (error) {
      this.#byName.delete(name)
      this.#services.log.warn({ name, problem: messageOf(error) }, cannotBeUsed)
    }
  }

  /**
   * Stores a new certificate, and uses it from then on. Other nodes do within a second or two.
   * @throws Error if it is not for this name and key, or not valid now
   */
  async keep(name: string, { chain, key }: { chain: string; key: string }, now: number): Promise<IssuedCertificate> {
    const certificate = { ...certificateFor(name, chain, key), context: createSecureContext({ cert: chain, key, sessionIdContext }) }
    if (certificate.expiresAt <= now) throw new Error(`the new certificate expired at ${isoTime(certificate.expiresAt)}: check the clock`)
    const { db, changes, secrets } = this.#services
    const id = issuedId(this.#authority, name)
    await db.write([
      keepCertificate({ id, authority: this.#authority, name }, { cert: chain, key, now }, secrets),
      ...changes.note(kind, id),
    ])
    this.#byName.set(name, certificate)
    this.onIssued()
    return certificate
  }

  get names(): string[] {
    return [...this.#byName.keys()]
  }

  get(name: string): IssuedCertificate | null {
    return this.#byName.get(name) ?? null
  }

  async forget(name: string): Promise<void> {
    const { db, changes } = this.#services
    const id = issuedId(this.#authority, name)
    await db.write([forgetCertificate(id), ...changes.note(kind, id)])
    this.#byName.delete(name)
  }

  /** For handshakes with clients that ask for this name; undefined if there is no valid certificate for it. */
  contextFor(name: string, now: number): SecureContext | undefined {
    const kept = this.#byName.get(name)
    if (!kept || kept.expiresAt <= now) return undefined
    try {
      return (kept.context ??= createSecureContext({ cert: kept.cert, key: kept.key, sessionIdContext }))
    } catch (error) {
      // Only this reads the rest of the chain.
      this.#byName.delete(name)
      this.#services.log.warn({ name, problem: messageOf(error) }, cannotBeUsed)
      return undefined
    }
  }
}

/**
 * The chain and the key in one text, as earlier versions kept them in a file.
 * @throws Error if they are not for this name, or do not belong together
 */
export function pairIn(name: string, text: string): CertificatePair {
  const keyAt = text.search(/-----BEGIN [A-Z ]*PRIVATE KEY-----/)
  if (keyAt === -1) throw new Error('the file has no key')
  return certificateFor(name, text.slice(0, keyAt), text.slice(keyAt))
}

function certificateFor(name: string, cert: string, key: string): IssuedCertificate {
  const parsed = new X509Certificate(cert)
  if (!parsed.checkPrivateKey(createPrivateKey(key))) throw new Error('the key does not belong to the certificate')
  if (parsed.checkHost(name) === undefined) throw new Error(`the certificate is not for ${name}`)
  return { cert, key, validFrom: Date.parse(parsed.validFrom), expiresAt: Date.parse(parsed.validTo), fingerprint: parsed.fingerprint256 }
}
