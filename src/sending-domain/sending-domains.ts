import { domainToASCII } from 'node:url'
import type { Secrets } from '../account/key-file.ts'
import type { Clock } from '../clock.ts'
import type { DnsResolver } from '../dns/dns-resolver.ts'
import { SternaError } from '../errors.ts'
import { newId } from '../id.ts'
import type { Resolver } from '../resolver.ts'
import { type Database, UniqueError } from '../store/database.ts'
import { authoritativeResolver, firstToAnswer } from './authoritative-resolver.ts'
import { checkRecords } from './check-records.ts'
import type { Domain, DomainKey, DomainTls } from './domain.ts'
import { beginCheck, domainAfterCheck, nextCheckAt, verifiedByHand } from './domain-check.ts'
import { type DkimAlgorithm, generateDomainKeys } from './domain-keys.ts'
import { parseDomainName, parseReturnPathLabel } from './sending-domain-name.ts'
import type { DomainObject, ReturnPathSettings } from './domain-records.ts'
import { domainObject, recordsFor, returnPathOf, selectorFor } from './domain-records.ts'
import { insertDomain, readDomains, updateDomain } from './domain-store.ts'

interface SendingDomainsParts {
  db: Database
  secrets: Secrets
  resolver: Resolver
  clock: Clock
  settings: ReturnPathSettings
  /** Finds the name servers of a domain's own zone, which are asked first. */
  authoritative?: (domain: string, resolver: Resolver) => Promise<DnsResolver | null>
}

/** What submission and delivery need of a domain. */
interface SenderDomain {
  /** `dom_…` */
  id: string
  name: string
  tls: DomainTls
  /** The domain of the reverse-path. */
  returnPathDomain: string
  /** RSA, and Ed25519 once its record has been found. */
  signingKeys: { id: string; signingDomain: string; selector: string; algorithm: DkimAlgorithm }[]
}

/** At most so many domains are checked at a time. */
const checksAtOnce = 5

/**
 * The domains that accounts send from, all of them in memory: every submission asks for its domain, and one process
 * holds the data directory. Call `load()` once before anything else.
 */
export class SendingDomains {
  readonly #parts: SendingDomainsParts
  readonly #byId = new Map<string, Domain>()
  readonly #senders = new Map<string, SenderDomain>()
  /** The verified ones, by account, by name. */
  readonly #verified = new Map<string, Map<string, SenderDomain>>()
  readonly #sealedKeys = new Map<string, Uint8Array>()
  readonly #privateKeys = new Map<string, Uint8Array>()
  readonly #checks = new Map<string, Promise<Domain>>()

  constructor(parts: SendingDomainsParts) {
    this.#parts = parts
  }

  async load(): Promise<void> {
    for (const { domain, sealedKeys } of await readDomains(this.#parts.db)) {
      for (const [id, sealed] of sealedKeys) this.#sealedKeys.set(id, sealed)
      this.#remember(domain)
    }
  }

  /**
   * Adds a domain with fresh keys; it is not verified yet.
   * @param more `returnPathLabel`: `send` unless given
   * @throws SternaError `validation_error`, `domain_exists`
   */
  async add(accountId: string, name: string, more: { returnPathLabel?: string; tls?: DomainTls } = {}): Promise<Domain> {
    const { db, secrets, clock } = this.#parts
    const domainName = parseDomainName(name)
    const returnPathLabel = parseReturnPathLabel(more.returnPathLabel ?? 'send')
    const now = clock.now()
    const id = newId('dom', now)
    const sealed = new Map<string, Uint8Array>()
    const keys = (await generateDomainKeys()).map(({ algorithm, publicKey, privateKey }): DomainKey => {
      const keyId = newId('dk', now)
      sealed.set(keyId, secrets.seal(privateKey, sealContext(keyId)))
      return { id: keyId, selector: selectorFor(id, algorithm), algorithm, publicKey, seenAt: null }
    })
    const domain: Domain = {
      id,
      accountId,
      name: domainName,
      status: 'not_started',
      returnPathLabel,
      returnPathSeen: false,
      tls: more.tls ?? 'opportunistic',
      checkedAt: null,
      verifiedAt: null,
      missingSince: null,
      createdAt: now,
      keys,
      records: {},
    }
    try {
      await db.write(insertDomain(domain, sealed))
    } catch (error) {
      if (!(error instanceof UniqueError)) throw error
      throw new SternaError('domain_exists', `This account has the domain ${domainName} already.`, { cause: error })
    }
    for (const [keyId, key] of sealed) this.#sealedKeys.set(keyId, key)
    return this.#remember(domain)
  }

  /** Of one account, or of all; the oldest first. */
  list(accountId?: string): Domain[] {
    const domains = [...this.#byId.values()]
    const wanted = accountId === undefined ? domains : domains.filter((domain) => domain.accountId === accountId)
    return wanted.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** @throws SternaError `not_found` */
  get(accountId: string, idOrName: string): Domain {
    const [domain] = this.find(idOrName).filter((found) => found.accountId === accountId)
    if (domain) return domain
    throw new SternaError('not_found', `This account has no domain "${idOrName}". Add it with: sterna domain add NAME --account A`)
  }

  /** Of whatever account: a name may belong to several. */
  find(idOrName: string): Domain[] {
    const name = normalName(idOrName.endsWith('.') ? idOrName.slice(0, -1) : idOrName)
    return this.list().filter((domain) => domain.id === idOrName || domain.name === name)
  }

  /**
   * Looks the domain's records up now and waits for the result. Many callers share one check.
   * @throws SternaError `not_found`
   */
  verify(id: string): Promise<Domain> {
    let check = this.#checks.get(id)
    if (!check) {
      check = this.#check(id).finally(() => this.#checks.delete(id))
      this.#checks.set(id, check)
    }
    return check
  }

  /**
   * Takes the domain as verified without looking, for a lab without DNS: both keys sign.
   * @throws SternaError `not_found`
   */
  async verifyManually(id: string): Promise<Domain> {
    return this.#save(verifiedByHand(this.#getById(id), this.#parts.clock.now()))
  }

  /** Checks what is due: verified domains every 6 h, pending ones every 10 min. Returns how many were checked. */
  async recheckDue(): Promise<number> {
    const now = this.#parts.clock.now()
    const due = this.list().filter((domain) => (nextCheckAt(domain) ?? Infinity) <= now)
    for (let i = 0; i < due.length; i += checksAtOnce) {
      await Promise.all(due.slice(i, i + checksAtOnce).map(({ id }) => this.verify(id)))
    }
    return due.length
  }

  /**
   * The verified domain of this account that is `domainName` or the nearest parent of it. From memory.
   * @param domainName U-labels and capitals are understood
   */
  verifiedDomainFor(accountId: string, domainName: string): SenderDomain | null {
    const domains = this.#verified.get(accountId)
    if (!domains) return null
    for (let name = normalName(domainName); ; ) {
      const domain = domains.get(name)
      if (domain) return domain
      const dot = name.indexOf('.')
      if (dot === -1) return null
      name = name.slice(dot + 1)
    }
  }

  /** For mail accepted earlier: whatever the domain's status has become. Null: there is no such domain. */
  senderDomain(id: string): SenderDomain | null {
    return this.#senders.get(id) ?? null
  }

  /**
   * The private key behind a signing key, PKCS #8 in DER.
   * @throws SternaError `not_found`, or `configuration` where the key file is another one
   */
  privateKey(id: string): Uint8Array {
    const known = this.#privateKeys.get(id)
    if (known) return known
    const sealed = this.#sealedKeys.get(id)
    if (!sealed) throw new SternaError('not_found', `There is no DKIM key ${id}.`)
    const privateKey = this.#parts.secrets.open(sealed, sealContext(id))
    this.#privateKeys.set(id, privateKey)
    return privateKey
  }

  /** As the API and the command line show it, with the records to publish. */
  toObject(domain: Domain): DomainObject {
    return domainObject(domain, this.#parts.settings)
  }

  async #check(id: string): Promise<Domain> {
    const { resolver, clock, settings, authoritative = authoritativeResolver } = this.#parts
    const domain = this.#getById(id)
    const own = await authoritative(domain.name, resolver)
    try {
      const findings = await checkRecords(recordsFor(domain, settings), own ? firstToAnswer(own, resolver) : resolver)
      const now = clock.now()
      return await this.#save(domainAfterCheck(beginCheck(this.#getById(id), now), findings, now))
    } finally {
      own?.close()
    }
  }

  #getById(id: string): Domain {
    const domain = this.#byId.get(id)
    if (domain) return domain
    throw new SternaError('not_found', `There is no domain ${id}.`)
  }

  async #save(domain: Domain): Promise<Domain> {
    await this.#parts.db.write(updateDomain(domain))
    return this.#remember(domain)
  }

  /** Domains are replaced, never changed in place: a caller that holds one sees one moment. */
  #remember(domain: Domain): Domain {
    const sender = senderOf(domain, this.#parts.settings)
    this.#byId.set(domain.id, domain)
    this.#senders.set(domain.id, sender)
    const verified = this.#verified.get(domain.accountId) ?? new Map<string, SenderDomain>()
    this.#verified.set(domain.accountId, verified)
    if (domain.status === 'verified') verified.set(domain.name, sender)
    else verified.delete(domain.name)
    return domain
  }
}

const sealContext = (keyId: string): string => `dkim_key ${keyId}`

const normalName = (name: string): string => (/[^\0-\x7f]/.test(name) ? domainToASCII(name) : name.toLowerCase())

const senderOf = (domain: Domain, settings: ReturnPathSettings): SenderDomain => ({
  id: domain.id,
  name: domain.name,
  tls: domain.tls,
  returnPathDomain: domain.returnPathSeen ? returnPathOf(domain) : settings.returnPathDomain,
  signingKeys: domain.keys
    .filter(({ algorithm, seenAt }) => algorithm === 'rsa-sha256' || seenAt !== null)
    .map(({ id, selector, algorithm }) => ({ id, signingDomain: domain.name, selector, algorithm })),
})
